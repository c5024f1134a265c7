#!/usr/bin/env python3
"""Kinds of programs with and without Fathom: programs.py TOOL SOURCE BUILD [--short|--long] [OPTIONS]

Each kind of kinds.py runs natively and under `fathom stat` and `fathom record`, in turns. A kind fails if its output or its exit status
changes, if it is executed more or less often than natively, if it takes longer than 20 times its native time and a minute, or if files or
processes are left behind. Where its row says that the tool may refuse it, exit status 124 without any execution is right as well.

The table (Markdown) goes to standard output, every figure to the file of --json. Exit status: 1 if a kind fails, 77 if none could be run."""
import argparse
import ctypes
import json
import os
import pwd
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import statistics
import string
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import kinds  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
NOBODY = pwd.getpwnam('nobody').pw_uid
REFUSED = 124
SETTLE_SECONDS = 10
SHORT_SECONDS = 420  # the test of the short form is ended after 600


# --- the surroundings of a run: descendants, private folders, counts of executions


def descendants():
    """Processes that this one started, directly or not. Orphans come to this process, which is their reaper."""
    children = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', 'rb') as file:
                    fields = file.read().rpartition(b')')[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append((int(name), fields[0]))
    found, queue = [], [os.getpid()]
    while queue:
        for pid, state in children.get(queue.pop(), []):
            queue.append(pid)
            if state not in (b'Z', b'X'):
                found.append(pid)
    return found


def name_of(pid):
    try:
        with open(f'/proc/{pid}/comm', encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return '?'


def reap(but):
    """Waits for orphans that have ended, not for the process BUT, whose status Popen wants."""
    for task in os.listdir('/proc/self/task'):
        with open(f'/proc/self/task/{task}/children', encoding='ascii') as file:
            children = [int(word) for word in file.read().split()]
        for child in children:
            if child != but:
                try:
                    os.waitpid(child, os.WNOHANG)
                except ChildProcessError:
                    pass


def mount(source, target, kind, flags):
    if LIBC.mount(source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), None):
        raise OSError(ctypes.get_errno(), f'mount on {target}')


def make_private(paths):
    """/tmp and /dev/shm of this script's own, so that what is left there is its own; the folders of PATHS stay. Needs root."""
    new_namespace, bind, recursive, private = 0x20000, 4096, 16384, 1 << 18
    kept = {}
    if LIBC.unshare(new_namespace):
        return False
    try:
        mount('none', '/', None, recursive | private)
        for path in paths:
            parts = os.path.realpath(path).split('/')
            if parts[1] == 'tmp' and len(parts) > 2 and parts[2] not in kept:
                kept[parts[2]] = os.open('/tmp/' + parts[2], os.O_PATH)
        mount('tmpfs', '/dev/shm', 'tmpfs', 0)
        mount('tmpfs', '/tmp', 'tmpfs', 0)
    except OSError:
        return False
    for folder in ('/tmp', '/dev/shm'):
        os.chmod(folder, 0o1777)
    try:
        for name, descriptor in kept.items():
            os.mkdir('/tmp/' + name)
            mount(f'/proc/self/fd/{descriptor}', '/tmp/' + name, None, bind | recursive)
    except OSError:
        LIBC.umount2(b'/tmp', 2)
        return False
    finally:
        for descriptor in kept.values():
            os.close(descriptor)
    return True


def in_use(path):
    """Whether a process has this path: then the file belongs to another run, which uses the same folder."""
    for pid in os.listdir('/proc'):
        if not pid.isdigit():
            continue
        try:
            if any(os.readlink(f'/proc/{pid}/fd/{file}').startswith(path) for file in os.listdir(f'/proc/{pid}/fd')):
                return True
            for name in ('maps', 'cmdline', 'environ'):
                with open(f'/proc/{pid}/{name}', 'rb') as file:
                    if path.encode() in file.read():
                        return True
        except OSError:
            continue
    return False


def left_in_shared(path):
    """Whether a file in a folder that others use was left behind by our run, as far as that can be said."""
    until = time.monotonic() + 3
    while True:
        try:
            if 'fathom' not in path or os.lstat(path).st_uid != os.geteuid() or in_use(path):
                return False
        except OSError:
            return False
        if time.monotonic() > until:
            return True
        time.sleep(0.2)


class Marks:
    """Executions by lines in the file COUNTED."""

    def __init__(self, context, _):
        self.path = context.counted

    def begin(self):
        with open(self.path, 'wb'):
            os.chmod(self.path, 0o666)

    def end(self):
        with open(self.path, 'rb') as file:
            return file.read().count(b'\n')


class Opens:
    """Executions by how often a file is opened that the program reads: inotify. Kinds of programs that cannot mark themselves."""

    def __init__(self, context, path):
        self.path = context.fill(path)

    def begin(self):
        self.descriptor = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        # opened and closed: two equal events in a row would become one
        if LIBC.inotify_add_watch(self.descriptor, self.path.encode(), 0x20 | 0x08 | 0x10) < 0:
            raise OSError(ctypes.get_errno(), self.path)

    def end(self):
        count = 0
        while True:
            try:
                events = os.read(self.descriptor, 65536)
            except BlockingIOError:
                break
            offset = 0
            while offset < len(events):
                _, mask, _, length = struct.unpack_from('iIII', events, offset)
                count += bool(mask & 0x20)
                offset += 16 + length
        os.close(self.descriptor)
        return count


class Executions:
    """Executions of a file by the kernel: fanotify, which needs root. The file is a copy for this script alone."""

    def __init__(self, context, path):
        self.path = context.fill(path)

    def begin(self):
        nonblocking, executed = 2, 0x1000
        self.descriptor = LIBC.fanotify_init(nonblocking | 1, os.O_RDONLY | os.O_CLOEXEC)
        if self.descriptor < 0:
            return
        if LIBC.fanotify_mark(self.descriptor, 1, ctypes.c_uint64(executed), -100, self.path.encode()):
            os.close(self.descriptor)
            self.descriptor = -1

    def end(self):
        if self.descriptor < 0:
            return None
        count = 0
        while True:
            try:
                events = os.read(self.descriptor, 65536)
            except BlockingIOError:
                break
            offset = 0
            while offset < len(events):
                length, _, _, _, _, file, _ = struct.unpack_from('=IBBHQii', events, offset)
                os.close(file)
                count += 1
                offset += length
        os.close(self.descriptor)
        return count


class Nothing:
    """A row whose point is that nothing can be executed."""

    def __init__(self, context, _):
        pass

    def begin(self):
        pass

    def end(self):
        return None


COUNTERS = {'marks': Marks, 'opens': Opens, 'executions': Executions, 'none': Nothing}


# --- programs of our own are built when a row needs them


class Unavailable(Exception):
    """This kind cannot be run here; the text is the reason."""


class Context(string.Formatter):
    """Where things are. fill() puts paths into the words of a row: {compute} is the program of that name, built if need be."""

    def __init__(self, options):
        super().__init__()
        self.tool, self.source, self.build = (os.path.abspath(path) for path in (options.tool, options.source, options.build))
        self.short = options.short
        self.stat_options = shlex.split(options.stat_options)
        self.scratch = tempfile.mkdtemp(prefix='programs-')
        os.chmod(self.scratch, 0o755)
        self.bin, self.run_folder, self.keep, self.reports, self.data = (
            os.path.join(self.scratch, name) for name in ('bin', 'run', 'keep', 'reports', 'data'))
        for folder in (self.bin, self.keep, self.reports, self.data):
            os.mkdir(folder)
            os.chmod(folder, 0o777)
        self.counted = os.path.join(self.scratch, 'counted')
        self.python = '/usr/bin/python3' if os.path.exists('/usr/bin/python3') else os.path.realpath(sys.executable)
        self.src = os.path.join(self.bin, 'src')
        shutil.copytree(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'src'), self.src)
        self.built = {}
        self.kind = None
        self.port = 0

    def get_value(self, key, args, kwargs):
        if key == 'n':
            return str(self.kind.n[0 if self.short else 1])
        if key in ('src', 'bin', 'keep', 'counted', 'python', 'port', 'scratch'):
            return str(getattr(self, key))
        return self.program(key)

    def fill(self, text):
        return self.vformat(text, (), {})

    def words(self, text):
        return [self.fill(word) for word in shlex.split(text)]

    def program(self, name):
        """The path of a program of our own."""
        if name not in self.built:
            self.built[name] = self.build_program(name)
        path, reason = self.built[name]
        if reason:
            raise Unavailable(reason)
        return path

    def build_program(self, name):
        path = os.path.join(self.bin, name)
        step = kinds.PROGRAMS.get(name)
        if not step:
            raise KeyError(f'kinds.py has no program {name}')
        for line in step.replace('{out}', path).split(' && '):
            words = self.words(line)
            if not shutil.which(words[0]):
                return path, f'{words[0]} is not installed'
            environment = dict(os.environ, GOCACHE=self.keep + '/go', GO111MODULE='off', TMPDIR=self.keep)
            done = subprocess.run(words, cwd=self.src, capture_output=True, text=True, errors='replace', check=False, env=environment,
                                  stdin=subprocess.DEVNULL)
            if done.returncode:
                said = [text for text in (done.stderr + done.stdout).splitlines() if text.strip()]
                return path, f'{words[0]} fails: {said[0][:120] if said else done.returncode}'
        return path, None


# --- one run


class Run:
    """One execution of a kind, native (verb None) or under a verb of the tool."""

    def __init__(self, context, kind, verb):
        self.context, self.kind, self.verb = context, kind, verb
        self.out = self.err = b''
        self.status = None
        self.seconds = 0
        self.hung = None
        self.executions = None
        self.left, self.files, self.said = [], {}, []
        self.notes = []
        self.replies = ''  # what clients of a server got, a part of its output
        self.process = None
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.port = context.port = free.getsockname()[1]
        self.report = os.path.join(context.reports, 'report.json' if verb == 'stat' else 'report.fathom')

    def command(self):
        context, kind = self.context, self.kind
        words = context.words(kind.command)
        if self.verb == 'stat':
            words = [context.tool, 'stat', '--json', '-o', self.report, *context.stat_options, '--'] + words
        elif self.verb == 'record':
            words = [context.tool, 'record', '--force', '-o', self.report, '--'] + words
        if kind.as_nobody:
            words = ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups'] + words
        return context.words(kind.around) + words

    def environment(self):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ('TMPDIR', 'LD_PRELOAD', 'MAKEFLAGS', 'MAKELEVEL', 'MFLAGS')}
        environment.update(COUNTED=self.context.counted, XDG_DATA_HOME=self.context.data, HOME=self.context.keep, PYTHONHASHSEED='0',
                           PYTHONDONTWRITEBYTECODE='1', LC_ALL='C.UTF-8')
        for name, value in self.kind.environment.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = self.context.fill(value)
        return environment

    def prepare_child(self):
        """In the child, before the tool or the program begins."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    def folders(self):
        """Names in the folders that everybody shares."""
        return {folder + '/' + name for folder in ('/tmp', '/dev/shm', '/var/tmp') if os.path.isdir(folder) for name in os.listdir(folder)}

    def feed(self, pipe):
        with open(self.context.program('input'), 'rb') as file:
            try:
                shutil.copyfileobj(file, pipe)
                pipe.close()
            except BrokenPipeError:
                pass

    def go(self, limit):
        context, kind = self.context, self.kind
        for folder in (context.run_folder, context.reports):
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            os.chmod(folder, 0o777)
        how, _, argument = kind.counts.partition(':')
        if kind.prepare:
            kind.prepare(self)
        command = self.command()
        counter = COUNTERS[how](context, argument)
        Marks(context, '').begin()
        before = self.folders()
        counter.begin()
        paths = [os.path.join(context.reports, name) for name in ('out', 'err')]
        with open(paths[0], 'wb') as out, open(paths[1], 'wb') as err:
            output, closed = out, None
            if kind.closed_output:
                closed, output = os.pipe()
                os.close(closed)
            start = time.monotonic()
            try:
                self.process = subprocess.Popen(command, cwd=context.run_folder, env=self.environment(), stdout=output, stderr=err,
                                                stdin=subprocess.PIPE if kind.piped_input else subprocess.DEVNULL, start_new_session=True,
                                                preexec_fn=self.prepare_child)
            except FileNotFoundError:
                self.status = 127
            except PermissionError:
                self.status = 126
            if kind.closed_output:
                os.close(output)
            feeder = None
            if kind.piped_input and self.process:
                feeder = threading.Thread(target=self.feed, args=(self.process.stdin,))
                feeder.start()
            self.deadline = start + limit
            if kind.drive:
                try:
                    kind.drive(self)
                except (OSError, TimeoutError, RuntimeError) as trouble:
                    self.notes.append(f'{trouble}')
            if self.process:
                self.wait(start)
            if feeder:
                feeder.join()
                try:
                    self.process.stdin.close()
                except OSError:
                    pass
        self.settle()
        if kind.after:
            kind.after(self)
        self.executions = counter.end()
        with open(paths[0], 'rb') as out, open(paths[1], 'rb') as err:
            self.out, errors = out.read() + self.replies.encode(), err.read()
        for path in paths:
            os.unlink(path)
        if self.verb:
            self.said = [line.decode(errors='replace') for line in errors.splitlines() if line.startswith(b'fathom: ')]
            errors = b''.join(line for line in errors.splitlines(True) if not line.startswith(b'fathom: '))
        self.err = errors
        self.look_around(before)
        if kind.normalise:
            self.out, self.err = kind.normalise(self.out), kind.normalise(self.err)
        return self

    def wait(self, start):
        # Popen.wait with a limit sleeps between looks
        ended = os.pidfd_open(self.process.pid)
        in_time, _, _ = select.select([ended], [], [], max(0.1, self.deadline - time.monotonic()))
        os.close(ended)
        if not in_time:
            self.hung = [f'{pid} {name_of(pid)}' for pid in descendants()]
            self.end_all()
        code = self.process.wait()
        self.seconds = time.monotonic() - start
        self.status = code if code >= 0 else 128 - code

    def end_all(self):
        for _ in range(50):
            pids = descendants()
            if not pids:
                break
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
            if self.process.poll() is None:
                reap(self.process.pid)
            else:
                reap(0)

    def settle(self):
        """Waits for what the program left running itself; what does not end is left behind, and is ended."""
        until = time.monotonic() + SETTLE_SECONDS
        while True:
            reap(0)
            pids = descendants()
            if not pids:
                return
            if time.monotonic() > until:
                break
            time.sleep(0.01)
        self.left += [f'process {name_of(pid)}' for pid in pids]
        self.end_all()

    def look_around(self, before):
        """Files: those of the program in its folder, and what is left elsewhere."""
        for folder, _, names in os.walk(self.context.run_folder):
            for name in names:
                path = os.path.join(folder, name)
                contents = b''
                if self.kind.compares_files and os.path.isfile(path):
                    with open(path, 'rb') as file:
                        contents = file.read()
                self.files[os.path.relpath(path, self.context.run_folder)] = contents
        for path in sorted(self.folders() - before):
            if self.context.private or left_in_shared(path):
                self.left.append(path)
                if self.context.private:
                    shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        if self.verb:
            self.left += ['beside the report: ' + name for name in sorted(os.listdir(self.context.reports))
                          if name != os.path.basename(self.report)]

    # for drivers of servers

    def until(self, condition, what, seconds=30):
        """Waits for a condition while the program runs; returns its value."""
        until = min(time.monotonic() + seconds, self.deadline)
        while True:
            value = condition()
            if value:
                return value
            if self.process.poll() is not None:
                raise RuntimeError(f'it ended before {what}')
            if time.monotonic() > until:
                raise TimeoutError(f'no {what} after {seconds} s')
            time.sleep(0.005)

    def program_pid(self):
        """The program's process number, from its mark."""
        def marked():
            with open(self.context.counted, encoding='ascii') as file:
                line = file.readline()
            return int(line) if line.endswith('\n') else 0
        return self.until(marked, 'mark')

    def named(self, name):
        """The oldest process of that name among those that were started."""
        def found():
            pids = [pid for pid in descendants() if name_of(pid) == name]
            return min(pids, key=lambda pid: os.stat(f'/proc/{pid}').st_ctime_ns) if pids else 0
        return self.until(found, f'process {name}')


# --- a kind with a verb


def member(document, path):
    for name in path.split('.'):
        document = document.get(name) if isinstance(document, dict) else None
    return document.get('value') if isinstance(document, dict) else document


def share_seen(context, verb, report):
    """Share of the processor time that the report is about, as the report says; None if it does not."""
    try:
        if verb == 'stat':
            with open(report, encoding='utf-8') as file:
                document = json.load(file)
        else:
            done = subprocess.run([context.tool, 'report', '--json', report], capture_output=True, text=True, check=False, timeout=120,
                                  env=dict(os.environ, XDG_DATA_HOME=context.data))
            document = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 'no report'
    share = member(document, 'coverage.seen_share')
    return share if share is not None else member(document, 'sampling.seen_share')


def difference(name, native, run):
    """The first line that differs, for the list of failures."""
    a, b = native.splitlines(), run.splitlines()
    for number in range(max(len(a), len(b))):
        one, other = (lines[number] if number < len(lines) else None for lines in (a, b))
        if one != other:
            show = ['nothing' if line is None else repr(line[:100].decode('utf-8', 'backslashreplace')) for line in (one, other)]
            return f'{name} line {number + 1}: {show[1]} instead of {show[0]}'
    return f'{name}: ends of lines'


def judge(native, run):
    """What is wrong with a run of the tool, as a list of sentences."""
    kind, faults = run.kind, []
    ratio = run.executions / native.executions if run.executions is not None and native.executions else None
    run.times = ratio
    if run.hung is not None:
        run.left = []
        return [f'hung after {run.executions} marks of executions; processes: ' + ', '.join(run.hung)]
    run.refused = run.status == REFUSED and native.status != REFUSED and not run.executions and not run.out
    if run.refused and run.verb in kind.refused.split():
        if not run.said:
            faults.append('refused without a reason')
    elif run.refused:
        faults.append('refused' + ''.join(f", '{line}'" for line in run.said[:1]))
    else:
        if run.status != native.status:
            faults.append(f'exit status {run.status} instead of {native.status}')
        for name, one, other in (('output', native.out, run.out), ('error output', native.err, run.err)):
            if one != other:
                faults.append(difference(name, one, other))
        if ratio is not None and ratio != 1:
            faults.append(f'{ratio:g} executions')
        for path, contents in native.files.items():
            if run.files.get(path, contents) != contents:
                faults.append(f'file {path} differs')
            if path not in run.files:
                faults.append(f'file {path} is missing')
        run.left += [path for path in sorted(run.files) if path not in native.files]
    run.left = [name for name in run.left if name not in native.left]
    faults += run.notes
    if run.left:
        faults.append('left behind: ' + ', '.join(run.left[:4]))
    return faults


def limit_for(seconds):
    return 20 * seconds + 60


def try_kind(context, kind, verbs):
    """Results of all verbs for one kind. The runs are interleaved: native, stat, record, native, …"""
    context.kind = kind
    for need in kind.needs.split():
        if not shutil.which(need):
            raise Unavailable(f'{need} is not installed')
    if (kind.as_nobody or kind.root) and os.geteuid() != 0:
        raise Unavailable('needs root')
    if kind.as_nobody and not context.open_to_nobody:
        raise Unavailable('the tool is in a folder that others may not enter')
    if kind.check:
        reason = kind.check(context)
        if reason:
            raise Unavailable(reason)
    context.words(kind.command)
    natives = [Run(context, kind, None).go(300)]
    first = natives[0]
    if first.hung is not None:
        raise RuntimeError('hangs natively')
    if first.status == 77:
        raise Unavailable('the program says that this machine lacks it')
    results = {}
    repeat = 1 if context.short or first.seconds > 5 else 3
    runs = {verb: [] for verb in verbs}
    for number in range(repeat):
        if number or context.short:
            natives.append(Run(context, kind, None).go(limit_for(first.seconds)))
        for verb in verbs:
            # a verb that failed once has failed
            if runs[verb] and runs[verb][-1].faults:
                continue
            run = Run(context, kind, verb).go(limit_for(first.seconds))
            run.times, run.refused = None, False
            run.faults = judge(first, run)
            run.seen = None if run.refused or run.hung is not None else share_seen(context, verb, run.report)
            runs[verb].append(run)
    for other in natives[1:]:
        if (first.out, first.err, first.status, first.executions) != (other.out, other.err, other.status, other.executions):
            where = difference('output', first.out + first.err, other.out + other.err) if first.out + first.err != other.out + other.err else ''
            raise RuntimeError(f'two native runs differ: {where or (first.status, other.status, first.executions, other.executions)}')
    if first.executions == 0:
        raise RuntimeError('the native run left no mark')
    native_seconds = statistics.median(run.seconds for run in natives)
    for verb in verbs:
        last = runs[verb][-1]
        seen = verb in kind.sees.split() and all(fault.startswith('output line') for fault in last.faults)
        seconds = statistics.median(run.seconds for run in runs[verb])
        results[verb] = {
            'verdict': ('sees it' if seen else 'fail') if last.faults else 'refused' if last.refused else 'pass',
            'faults': last.faults,
            'output': 'changed' if (first.out, first.err) != (last.out, last.err) and not last.refused else 'same',
            'status': last.status, 'native_status': first.status,
            'executions': last.times if not last.refused else 0,
            'native_seconds': native_seconds, 'seconds': seconds, 'ratio': None if last.refused or not native_seconds else seconds / native_seconds,
            'seen_share': last.seen, 'left': last.left, 'said': last.said, 'runs': len(runs[verb]),
        }
    return results


# --- what is printed


def short_said(context, said):
    lines = []
    for line in said[:2]:
        text = line[len('fathom: '):].replace(context.scratch, '…').replace('|', '\\|')
        lines.append(text if len(text) <= 110 else text[:109] + '…')
    return '<br>'.join(lines) + (f'<br>+ {len(said) - 2} more' if len(said) > 2 else '')


def row(context, name, verb, result):
    def share(value):
        return value if isinstance(value, str) else 'n/a' if value is None else f'{100 * value:.0f} %'

    def number(value):
        return '?' if value is None else f'{value:g}'

    status = str(result['status']) if result['status'] == result['native_status'] else f"{result['native_status']} → {result['status']}"
    ratio = '–' if result['ratio'] is None else f"{result['ratio']:.1f}" if result['ratio'] < 100 else f"{result['ratio']:.0f}"
    return (f"| {name} | {verb} | {result['verdict']} | {result['output']} | {status} | {number(result['executions'])} | {ratio} | "
            f"{share(result['seen_share'])} | {len(result['left']) or 'none'} | {short_said(context, result['said'])} |")


def print_table(context, results):
    print('| kind | verb | verdict | output | exit status | executions | time / native | seen | left | messages |')
    print('|---|---|---|---|---|---|---|---|---|---|')
    for name, verbs in results.items():
        for verb, result in verbs.items():
            print(row(context, name, verb, result))


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('tool', nargs='?', help='build/fathom')
    parser.add_argument('source', nargs='?')
    parser.add_argument('build', nargs='?')
    form = parser.add_mutually_exclusive_group()
    form.add_argument('--short', action='store_true', help='about 25 kinds that need nothing beside the packages of the tests')
    form.add_argument('--long', action='store_true', help='all kinds (default)')
    parser.add_argument('--only', help='these kinds, separated by commas')
    parser.add_argument('--verbs', default='stat,record')
    parser.add_argument('--stat-options', default='', help="more options of stat, such as '--counters windows'")
    parser.add_argument('--json', help='where the results go; default: programs.json in the folder BUILD')
    parser.add_argument('--list', action='store_true', help='the kinds, and no run')
    options = parser.parse_args()
    if not options.list and not options.build:
        parser.error('TOOL SOURCE BUILD are missing')
    return options


def make_profile(context):
    """One machine profile and one calibration for all runs, so that none of them begins with its own."""
    own = os.path.join(os.environ.get('XDG_DATA_HOME') or os.path.expanduser('~/.local/share'), 'fathom')
    if os.path.isdir(own):
        shutil.copytree(own, os.path.join(context.data, 'fathom'))
    environment = dict(os.environ, XDG_DATA_HOME=context.data)
    if not os.path.isdir(os.path.join(context.data, 'fathom', 'machines')):
        subprocess.run([context.tool, 'machine', '--quick'], env=environment, capture_output=True, check=False, timeout=180)
    recording = os.path.join(context.reports, 'first.fathom')
    first = subprocess.run([context.tool, 'record', '--force', '-o', recording, '--', 'true'], env=environment, capture_output=True, text=True, check=False, timeout=180)
    if os.geteuid() == 0:
        subprocess.run(['chmod', '-R', 'a+rwX', context.data], check=False)
    return None if first.returncode == 0 else first.stderr.strip()


def main():
    options = options_of()
    chosen = [kind for kind in kinds.KINDS if kind.short or not options.short]
    if options.only:
        names = options.only.split(',')
        unknown = set(names) - {kind.name for kind in kinds.KINDS}
        if unknown:
            sys.exit(f'there is no kind {", ".join(sorted(unknown))}: see --list')
        chosen = [kind for kind in kinds.KINDS if kind.name in names]
    if options.list:
        for kind in chosen:
            print(f'{kind.name:24} {"short" if kind.short else "long":6} {kind.what}')
        return 0
    verbs = options.verbs.split(',')
    LIBC.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come here
    context = Context(options)
    passed, failed, skipped, results, failures = 0, 0, [], {}, []
    # opened before /tmp is another
    figures = open(options.json or os.path.join(options.build, 'programs.json'), 'w', encoding='utf-8')
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        # whether the unprivileged user reaches the tool; asked before /tmp is another
        context.open_to_nobody = os.geteuid() == 0 and subprocess.run(
            ['setpriv', f'--reuid={NOBODY}', '--clear-groups', 'test', '-x', context.tool, '-a', '-w', context.keep], check=False).returncode == 0
        context.private = os.geteuid() == 0 and make_private(
            [context.tool, context.source, context.build, context.scratch, os.path.abspath(__file__), os.path.expanduser('~'), os.getcwd()])
        trouble = make_profile(context)
        if trouble and 'record' in verbs:
            print(f'nothing can be recorded here: {trouble}', file=sys.stderr)
            verbs.remove('record')
        for kind in chosen:
            start = time.monotonic()
            try:
                if options.short and start - begin > SHORT_SECONDS:
                    raise RuntimeError('not run: those before took too long')
                results[kind.name] = try_kind(context, kind, verbs)
            except Unavailable as reason:
                skipped.append((kind.name, str(reason)))
                print(f'{kind.name}: not run: {reason}', file=sys.stderr)
                continue
            except (RuntimeError, OSError) as trouble:
                failed += len(verbs)
                failures.append(f'{kind.name}: {trouble}')
                print(f'{kind.name}: {trouble}', file=sys.stderr)
                continue
            for verb, result in results[kind.name].items():
                bad = result['verdict'] == 'fail'
                failed, passed = failed + bad, passed + (not bad)
                failures += [f'{kind.name}, {verb}: {fault}' for fault in result['faults']]
            print(f'{kind.name}: ' + ', '.join(f"{verb} {result['verdict']}" for verb, result in results[kind.name].items()) +
                  f' ({time.monotonic() - start:.1f} s)', file=sys.stderr, flush=True)
        print_table(context, results)
    finally:
        for pid in descendants():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(context.scratch, ignore_errors=True)
    with figures:
        json.dump({'results': results, 'failures': failures, 'skipped': dict(skipped)}, figures, indent=1, ensure_ascii=False)
        figures.write('\n')
    for name, reason in skipped:
        print(f'not run: {name}: {reason}')
    for line in failures:
        print(f'FAILED: {line}')
    print(f'{passed} passed, {failed} failed, {len(skipped) * len(verbs)} skipped')
    if not passed and not failed:
        print('SKIPPED: no kind could be run here')
        return 77
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
