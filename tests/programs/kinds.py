"""The table of programs.py: one row for each kind of program.

A new kind is a row here; a program of our own is a file in src/ and a line in PROGRAMS. In commands {NAME} is the program of that name
in PROGRAMS, {n} the size for the short or the long form, {port} a free port; {src}, {bin} and {keep} are folders."""
import dataclasses
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time


def c(name, options=''):
    return f'gcc -O2 {options} -o {{out}} {{src}}/{name}.c -pthread -lm'


def copy_of(command):
    return f"sh -c 'cp \"$(command -v {command})\" {{out}}'"


# How programs are built, in the folder of the sources: {out} is the path of the program; && separates steps.
PROGRAMS = {
    'input': 'awk -v out={out} -f {src}/input.awk',
    'numbers': 'awk -v out={out} -f {src}/numbers.json.awk',
    'compressed': "sh -c 'gzip -c -6 {input} >{out}'",
    'compute': c('compute'), 'stream': c('stream'), 'pthreads': c('pthreads'), 'openmp': c('openmp', '-fopenmp'),
    'exceptions': 'g++ -O2 -o {out} {src}/exceptions.cc -pthread', 'threads': 'g++ -O2 -o {out} {src}/threads.cc -pthread',
    'fortran': 'gfortran -O2 -o {out} {src}/fortran.f90',
    'forks': c('forks'), 'spawns': c('spawns'), 'daemon': c('daemon'), 'ends': c('ends'), 'copies': c('copies'), 'closed': c('closed'),
    'sigaltstack': c('sigaltstack'), 'signalfd': c('signalfd'), 'io_uring': c('io_uring'), 'jumps': c('jumps'),
    'coroutines': c('coroutines'), 'jit': c('jit'), 'plugin': c('plugin', '-shared -fPIC'), 'dlopen': c('dlopen'), 'tls': c('tls'),
    'sequence': c('sequence'), 'raw_clone': c('raw_clone'), 'close_range': c('close_range'), 'seccomp': c('seccomp'),
    'userfaultfd': c('userfaultfd'), 'limited': c('limited'), 'reserve': c('reserve'), 'own_signals': c('own_signals'),
    'avx512': c('avx512', '-mavx512f'), 'server': c('server'), 'own_process': c('own_process'), 'again': c('again'),
    'tracer': c('tracer'), 'memory': c('memory'), 'cancel': c('cancel'),
    'static': c('compute', '-static'), 'static_pie': c('compute', '-static-pie'), 'bits32': c('compute', '-m32 -I/usr/include/x86_64-linux-gnu'),
    'musl': 'musl-gcc -O2 -o {out} {src}/compute.c', 'musl_static': 'musl-gcc -O2 -static -o {out} {src}/compute.c',
    'no_libc': 'gcc -nostdlib -static -o {out} {src}/no_libc.S',
    'setuid': c('compute') + ' && chmod 4755 {out}',
    'asan': c('faulty', '-g -fsanitize=address'), 'ubsan': c('faulty', '-g -fsanitize=undefined'),
    'tsan': c('faulty', '-g -fsanitize=thread'), 'lsan': c('faulty', '-g -fsanitize=leak'), 'debugged': c('ends', '-g'),
    'java': 'javac -d {out} {src}/Compute.java',
    'go_static': 'env CGO_ENABLED=0 go build -o {out} compute.go half_go.go', 'go_cgo': 'env CGO_ENABLED=1 go build -o {out} compute.go half_c.go',
    'rust': 'rustc -O -o {out} {src}/compute.rs', 'ocaml': 'ocamlopt -o {out} {src}/compute.ml',
    'haskell': 'ghc -v0 -O -threaded -o {out} {src}/compute.hs', 'erlang': 'mkdir -p {out} && erlc -o {out} {src}/compute.erl',
    'mono': 'mcs -out:{out} {src}/compute.cs', 'ada': 'gnatmake -q -O2 {src}/compute.adb -o {out}',
    'pascal': 'fpc -v0 -O2 -o{out} {src}/compute.pas', 'd': 'gdc -O2 -o {out} {src}/compute.d', 'mpi': 'mpicc -O2 -o {out} {src}/ranks.c',
    'memcached': copy_of('memcached'), 'git': copy_of('git'),
    'postgres': "sh -c 'ln -s $(ls /usr/lib/postgresql/*/bin/postgres | tail -1) {out}'",
    'database': "setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "
                "'$(ls /usr/lib/postgresql/*/bin/initdb | tail -1) -N -A trust -U nobody -D {out} >{out}.log'",
}


@dataclasses.dataclass
class Kind:
    """One row. Executions are counted by marks (lines in the file COUNTED), by 'opens:FILE' or by 'executions:FILE'."""
    name: str
    command: str
    what: str
    short: bool = False           # also in the short form
    n: tuple = (0, 0)             # {n}: short, long
    counts: str = 'marks'
    needs: str = ''               # commands without which it is skipped
    refused: str = ''             # verbs that may refuse it with 124, if it was not executed
    sees: str = ''                # verbs whose traces it looks for and prints: another output is right, and is shown
    around: str = ''              # what starts the tool, or the program natively
    as_nobody: bool = False       # the tool and the program run as an unprivileged user
    root: bool = False
    environment: dict = dataclasses.field(default_factory=dict)
    piped_input: bool = False
    closed_output: bool = False
    compares_files: bool = True   # contents of files in the working folder, not only their names
    check: object = None          # (context): why it cannot be run here, or None
    prepare: object = None        # (run), before each run
    drive: object = None          # (run), while the program runs
    after: object = None          # (run), after each run
    normalise: object = None      # (bytes), for outputs with process numbers and addresses


KINDS = []
BOTH = 'stat record'


def kind(name, command, what, **options):
    KINDS.append(Kind(name, command, what, **options))


def short(name, command, what, **options):
    kind(name, command, what, short=True, **options)


# --- the rows: compiled programs

short('compute', '{compute} {n}', 'C: arithmetic', n=(60, 300))
short('stream', '{stream} 64 {n}', 'C: memory larger than the caches', n=(3, 12))
short('pthreads', '{pthreads} 4 {n}', 'C: threads, mutex, condition, barrier', n=(20, 80))
short('openmp', '{openmp} {n}', 'C: OpenMP', n=(40, 400))
short('exceptions', '{exceptions} {n}', 'C++: exceptions in four threads', n=(8000, 30000))
short('threads', '{threads} {n}', 'C++: threads, futures', n=(50000, 1000000))
kind('fortran', '{fortran}', 'Fortran: arrays')
kind('ada', '{ada}', 'Ada: tasks, exceptions', needs='gnatmake')
kind('d', '{d}', 'D: garbage collection, threads', needs='gdc')
kind('rust-1', '{rust} 1', 'Rust, one thread', needs='rustc')
kind('rust-4', '{rust} 4', 'Rust, four threads', needs='rustc')
kind('go-static', '{go_static}', 'Go: static, goroutines', needs='go', refused=BOTH)
kind('go-cgo', '{go_cgo}', 'Go with cgo: dynamic', needs='go', refused=BOTH)
kind('ocaml', '{ocaml}', 'OCaml', needs='ocamlopt')
kind('haskell', '{haskell}', 'Haskell (GHC), threaded', needs='ghc')
kind('pascal', '{pascal}', 'Pascal: static, without libc', needs='fpc', refused=BOTH)
kind('avx512', '{avx512}', 'C: AVX-512', check=lambda context: None if ' avx512f ' in open('/proc/cpuinfo').read() else 'no AVX-512 here')

# --- processes

short('shell', 'sh {src}/job.sh {n}', 'a shell script', n=(20000, 200000))
short('jobs', 'sh {src}/short.sh {n}', 'many short processes', n=(40, 500))
kind('make', 'make -s -j2 -f {src}/Makefile', 'make with gcc', needs='make gcc')
short('forks', '{forks} 4 {n}', 'fork in four threads', n=(20, 150))
short('spawns', '{spawns} {n}', 'vfork, posix_spawn, popen, system', n=(5, 30))
short('daemon', '{daemon}', 'forks twice and detaches')
kind('again', '{again}', 'executes itself, once from a thread')
kind('tracer', '{tracer}', 'traces its child with ptrace')
kind('memory', '{memory}', 'shared memory between processes')

# --- ends

short('segv', '{ends} segv', 'ended by SIGSEGV')
short('abort', '{ends} abort', 'ended by abort()')
short('term-self', '{ends} term', 'SIGTERM to itself')
short('status', '{ends} status', 'exit status 43')
kind('kill-self', '{ends} kill', 'SIGKILL to itself')
kind('fpe', '{ends} fpe', 'ended by SIGFPE')
kind('ill', '{ends} ill', 'ended by SIGILL')
kind('bus', '{ends} bus', 'ended by SIGBUS')
kind('quick-exit', '{ends} quick', 'quick_exit')
kind('_exit', '{ends} _exit', '_exit, output not flushed')
kind('main-thread-first', '{ends} thread', 'pthread_exit of the first thread, exit of another')
kind('no-such-program', '{bin}/absent', 'a program that is not there', counts='none')
kind('not-executable', '{src}/compute.c', 'a file that cannot be executed', counts='none')

# --- input and output

short('piped-input', '{copies} {n}', 'reads a pipe', piped_input=True, n=(1, 4))
short('closed-output', '{closed}', 'writes to a closed pipe: SIGPIPE', closed_output=True)
kind('closed-output-ignored', '{closed} ignore', 'writes to a closed pipe: EPIPE', closed_output=True)
kind('no-input', '{compute} 100', 'standard input closed', around="sh -c 'exec \"$0\" \"$@\" <&-'")
kind('terminal', 'script -qefc "{compute} 100" /dev/null', 'under a pseudo-terminal', needs='script')
kind('io-uring', '{io_uring}', 'io_uring by system calls')

# --- signals

short('sigaltstack', '{sigaltstack}', 'handlers on another stack')
short('signalfd', '{signalfd}', 'signalfd, timerfd, eventfd, epoll')
short('own-trap', '{own_signals} trap', 'uses SIGTRAP itself')
short('own-prof', '{own_signals} prof', 'uses SIGPROF itself')
kind('own-alarm', '{own_signals} alarm', 'uses SIGALRM itself')
kind('own-timer', '{own_signals} timer', 'timer_create, real-time signals')
kind('own-segv', '{own_signals} segv', 'mends its faults by changing registers in the handler')
kind('queued-signals', '{own_signals} queue', 'sigqueue 1000 times')

# --- control flow and code

short('jumps', '{jumps} {n}', 'setjmp, longjmp, siglongjmp', n=(500000, 3000000))
short('coroutines', '{coroutines} {n}', 'ucontext coroutines, between threads', n=(10000, 60000))
short('jit', '{jit} {n}', 'makes code in pages that are written or executed', n=(1000, 20000))
short('dlopen', '{dlopen} {plugin} {n}', 'dlopen and dlclose', n=(100, 1000))
kind('tls', '{tls}', 'thread-local storage')
short('thread-sequence', '{sequence} {n}', 'threads one after another', n=(500, 10000))
kind('cancel', '{cancel}', 'pthread_cancel, robust mutexes, signals to threads')
short('raw-clone', '{raw_clone}', 'threads by the clone system call', refused=BOTH)
short('close-range', '{close_range}', 'closes every descriptor it does not know')
kind('userfaultfd', '{userfaultfd}', 'page faults served by userfaultfd')
kind('reserve', '{reserve}', '8 GiB reserved, 64 MiB touched')
for what, text in (('path', 'reads its own path'), ('code', 'adds up its own code'), ('frames', 'counts its own frames'),
                   ('descriptors', 'counts its descriptors'), ('threads', 'counts its threads'), ('handlers', 'lists its signal handlers'),
                   ('environment', 'prints its environment')):
    # LD_PRELOAD and the session are variables; a perf event is a descriptor
    kind(f'own-{what}', '{own_process} ' + what, text, sees={'environment': BOTH, 'descriptors': 'record'}.get(what, ''))

# --- filters of system calls

short('seccomp-libc', '{seccomp} prctl', 'seccomp filter through libc', refused=BOTH)
short('seccomp-raw', '{seccomp} raw', 'seccomp filter by a system call instruction of its own', refused=BOTH)
kind('seccomp-strict', '{seccomp} strict', 'seccomp strict mode by an instruction of its own', refused=BOTH)

# --- launchers

short('env-i', 'env -i COUNTED={counted} {compute} {n}', 'env -i PROGRAM', n=(60, 300))
short('timeout', 'timeout 60 {compute} {n}', 'timeout PROGRAM', n=(60, 300))
kind('nice', 'nice -n 1 {compute} 100', 'nice PROGRAM')
kind('setsid', 'setsid -w {compute} 100', 'setsid PROGRAM', needs='setsid')
kind('nohup', 'nohup {compute} 100', 'nohup PROGRAM')
kind('xargs', 'xargs -a {src}/words.txt -n 1 -P 2 {compute}', 'xargs -P 2 PROGRAM',
     normalise=lambda text: b''.join(sorted(text.splitlines(True))))
kind('no-randomisation', 'setarch -R {compute} 100', 'setarch -R PROGRAM', needs='setarch')
kind('su', "su nobody -s /bin/sh -c '{compute} 100'", 'su nobody -c PROGRAM', root=True, needs='su')
kind('setpriv', 'setpriv --reuid=65534 --clear-groups {compute} 100', 'setpriv PROGRAM', root=True, needs='setpriv')
kind('unshare-pid', 'unshare -p -f {compute} 100', 'unshare -p -f PROGRAM', root=True, needs='unshare')
kind('unshare-mount', 'unshare -m {compute} 100', 'unshare -m PROGRAM', root=True, needs='unshare')
kind('unshare-user', 'unshare -U {compute} 100', 'unshare -U PROGRAM', needs='unshare',
     check=lambda context: None if subprocess.run(['unshare', '-U', 'true'], capture_output=True, check=False).returncode == 0 else 'no user namespaces')
kind('bubblewrap', 'bwrap --bind / / --dev /dev --proc /proc --unshare-pid {compute} 100', 'bwrap PROGRAM', needs='bwrap')
kind('fakeroot', 'fakeroot -- {compute} 100', 'fakeroot PROGRAM (preloads)', needs='fakeroot')
kind('stdbuf', 'stdbuf -oL {compute} 100', 'stdbuf PROGRAM (preloads)')
kind('jemalloc', 'env LD_PRELOAD=libjemalloc.so.2 {threads} 300000', 'a preloaded allocator',
     check=lambda context: None if glob.glob('/usr/lib/x86_64-linux-gnu/libjemalloc.so.2') else 'libjemalloc2 is not installed')
kind('mpirun', 'mpirun --allow-run-as-root --oversubscribe -n 2 {mpi}', 'mpirun with two ranks', needs='mpirun mpicc')
kind('valgrind', 'valgrind -q {compute} 2', 'valgrind PROGRAM', needs='valgrind', refused=BOTH)
kind('gdb', 'gdb -nx -q -batch -ex run -ex bt --args {debugged} segv', 'gdb PROGRAM', needs='gdb', refused=BOTH,
     normalise=lambda text: re.sub(rb'0x[0-9a-f]+|(process|LWP) \d+', b'X', text))
kind('strace', 'strace -o /dev/null {compute} 100', 'strace PROGRAM', needs='strace', refused=BOTH)
kind('strace-f', 'strace -f -o /dev/null {pthreads} 4 40', 'strace -f PROGRAM', needs='strace', refused=BOTH)
kind('qemu', 'qemu-x86_64 {compute} 10', 'an emulator', needs='qemu-x86_64', refused=BOTH)

# --- programs that cannot be preloaded, or not easily

short('static', '{static} {n}', 'static, glibc', n=(60, 300), refused=BOTH)
kind('static-pie', '{static_pie} 100', 'static, position-independent', refused=BOTH)
kind('no-libc', '{no_libc}', 'static, without libc', refused=BOTH)
kind('musl', '{musl} 100', 'dynamic, musl', needs='musl-gcc', refused=BOTH)
kind('musl-static', '{musl_static} 100', 'static, musl', needs='musl-gcc', refused=BOTH)
kind('32-bit', '{bits32} 30', '32-bit', refused=BOTH)
kind('setuid', '{setuid} 100', 'setuid root, started by another user', as_nobody=True, refused=BOTH)
kind('busybox', 'busybox sh {src}/job.sh 100000', 'busybox, static', needs='busybox', refused=BOTH)

# --- sanitizers


def no_addresses(text):
    return re.sub(rb'0x[0-9a-f]+|==\d+==|\bT\d+\b|pid=\d+', b'X', text)


kind('asan', '{asan} right', 'address sanitizer, no fault', refused=BOTH)
kind('asan-finds', '{asan} overflow', 'address sanitizer, finds an overflow', refused=BOTH, normalise=no_addresses)
kind('ubsan', '{ubsan} right', 'undefined-behaviour sanitizer, no fault')
kind('ubsan-finds', '{ubsan} shift', 'undefined-behaviour sanitizer, finds an overflow')
kind('tsan', '{tsan} right', 'thread sanitizer, no fault', refused=BOTH)
kind('lsan', '{lsan} right', 'leak sanitizer, no fault', refused=BOTH)
kind('lsan-finds', '{lsan} leak', 'leak sanitizer, finds a leak', refused=BOTH, normalise=no_addresses)

# --- limits


def in_shell(limit, program):
    return f"sh -c 'ulimit {limit}; exec {program}'"


kind('limit-memory', in_shell('-v 200000', '{limited} memory'), 'ulimit -v 200000')
kind('limit-time', in_shell('-S -t 1', '{limited} time'), 'ulimit -t 1, ended by SIGXCPU')
kind('limit-stack', in_shell('-s 64', '{limited} stack'), 'ulimit -s 64')
kind('limit-file', in_shell('-f 1', '{limited} file'), 'ulimit -f 1, ended by SIGXFSZ')
kind('limit-files', in_shell('-n 16', '{limited} files'), 'ulimit -n 16')
kind('limit-processes', in_shell('-u 200', '{pthreads} 4 40'), 'ulimit -u 200')
for what, limit, refused in (('memory', '-v 400000', BOTH), ('stack', '-s 256', BOTH), ('file', '-f 1', BOTH), ('files', '-n 24', BOTH)):
    kind(f'limit-{what}-of-tool', '{limited} ' + what, f'ulimit {limit} before the tool starts', refused=refused,
         around=f"sh -c 'ulimit {limit}; exec \"$0\" \"$@\"'")


def limit_group(run=None):
    """A new control group with 256 MiB and half of a CPU, and its files; None where that is not allowed."""
    name = f'fathom-programs-{os.getpid()}'
    if os.path.exists('/sys/fs/cgroup/cgroup.controllers'):
        return [('/sys/fs/cgroup/' + name, 'cgroup.procs', {'memory.max': '268435456', 'cpu.max': '50000 100000'})]
    return [('/sys/fs/cgroup/memory/' + name, 'cgroup.procs', {'memory.limit_in_bytes': '268435456'}),
            ('/sys/fs/cgroup/cpu/' + name, 'cgroup.procs', {'cpu.cfs_quota_us': '50000', 'cpu.cfs_period_us': '100000'})]


def make_group(run):
    for folder, _, settings in limit_group():
        os.makedirs(folder, exist_ok=True)
        for name, value in settings.items():
            with open(os.path.join(folder, name), 'w', encoding='ascii') as file:
                file.write(value)


def remove_group(run):
    for folder, _, _ in limit_group():
        for _ in range(100):
            try:
                os.rmdir(folder)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)


def group_possible(context):
    try:
        make_group(None)
    except OSError as trouble:
        return f'no control group can be made: {trouble.strerror}'
    finally:
        remove_group(None)
    return None


kind('cgroup', '{stream} 32 8', 'a control group with 256 MiB and half of a CPU, around the tool', root=True, check=group_possible,
     prepare=make_group, after=remove_group,
     around="sh -c 'for folder in " + ' '.join(folder for folder, _, _ in limit_group()) + "; do echo $$ >$folder/cgroup.procs; done; exec \"$0\" \"$@\"'")

# --- surroundings

kind('unprivileged', '{compute} 200', 'tool and program as another user', as_nobody=True)
kind('no-home', '{compute} 200', 'no HOME', environment={'HOME': None, 'XDG_DATA_HOME': None})
kind('lc-c', '{compute} 200', 'LC_ALL=C', environment={'LC_ALL': 'C'})
kind('no-environment', '{compute} 200', 'the tool without any environment', around='env -i COUNTED={counted}')
kind('no-proc', "unshare -m sh -c 'umount -l /proc; exec {compute} 200'", 'the program without /proc', root=True, needs='unshare', refused=BOTH)
kind('no-proc-of-tool', '{compute} 200', 'tool and program without /proc', root=True, needs='unshare', refused=BOTH,
     around="unshare -m sh -c 'umount -l /proc; exec \"$0\" \"$@\"'")
kind('small-shm', '{pthreads} 4 60', '/dev/shm with 64 KiB', root=True, needs='unshare', refused=BOTH,
     around="unshare -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm; exec \"$0\" \"$@\"'")
kind('read-only-folder', '{compute} 200', 'a working folder that cannot be written', as_nobody=True,
     prepare=lambda run: os.chmod(run.context.run_folder, 0o555))

# --- interpreters and virtual machines

short('python', '{python} {src}/compute.py {n}', 'Python', n=(6000, 60000))
kind('python-numpy', '{python} {src}/matrices.py', 'Python with NumPy', environment={'OPENBLAS_NUM_THREADS': '2'},
     check=lambda context: None if subprocess.run([context.python, '-c', 'import numpy'], capture_output=True, check=False).returncode == 0
     else 'NumPy is not installed')
kind('python-processes', '{python} {src}/processes.py', 'Python with a pool of processes')
short('perl', 'perl {src}/compute.pl {n}', 'Perl', n=(500000, 2000000), needs='perl')
kind('java', 'java -cp {java} Compute', 'Java', needs='java javac')
kind('java-interpreted', 'java -Xint -Xmx128m -cp {java} Compute', 'Java without its compiler', needs='java javac')
kind('node', 'node {src}/compute.js', 'Node.js', needs='node')
kind('pypy', 'pypy3 {src}/compute.py 40000', 'PyPy', needs='pypy3')
kind('ruby', 'ruby {src}/compute.rb', 'Ruby', needs='ruby')
kind('php', 'php {src}/compute.php', 'PHP', needs='php')
kind('lua', 'lua5.4 {src}/compute.lua 2000000', 'Lua', needs='lua5.4')
kind('luajit', 'luajit {src}/compute.lua 60000000', 'LuaJIT', needs='luajit')
kind('erlang', 'erl -noshell -pa {erlang} -s compute main', 'Erlang', needs='erl erlc')
kind('sbcl', 'sbcl --script {src}/compute.lisp', 'Lisp (SBCL)', needs='sbcl')
kind('mono', 'mono {mono}', 'C# (Mono)', needs='mono mcs')
kind('guile', 'guile --no-auto-compile {src}/compute.scm', 'Scheme (Guile)', needs='guile')
kind('prolog', 'swipl -q {src}/compute.pro', 'Prolog (SWI)', needs='swipl')
kind('gawk', 'gawk -f {src}/compute.awk {input}', 'awk (gawk)', needs='gawk')
kind('mawk', 'mawk -f {src}/compute.awk {input}', 'awk (mawk)', needs='mawk')
kind('tcl', 'tclsh {src}/compute.tcl', 'Tcl', needs='tclsh')
kind('r', 'Rscript --vanilla {src}/compute.R', 'R', needs='Rscript')
kind('octave', 'octave-cli -q -f {src}/compute.m', 'Octave', needs='octave-cli')

# --- ready-made programs

kind('gzip', 'gzip -c -9 {input}', 'gzip', counts='opens:{input}', needs='gzip')
kind('bzip2', 'bzip2 -c {input}', 'bzip2', counts='opens:{input}', needs='bzip2')
kind('xz', 'xz -c -2 -T2 --block-size=262144 {input}', 'xz, two threads', counts='opens:{input}', needs='xz')
kind('zstd', 'zstd -q -c -15 -T2 {input}', 'zstd, two threads', counts='opens:{input}', needs='zstd')
kind('sort', 'sort --parallel=2 -S 4M -n {input}', 'sort, two threads, with files', counts='opens:{input}')
kind('sqlite3', "sqlite3 :memory: '.read {src}/table.sql'", 'SQLite', counts='opens:{src}/table.sql', needs='sqlite3')
kind('jq', 'jq -c "group_by(.key) | map([.[0].key, length]) | .[0:50]" {numbers}', 'jq', counts='opens:{numbers}', needs='jq')
kind('openssl', 'openssl enc -aes-256-cbc -pbkdf2 -iter 300000 -S 0011223344556677 -k word -in {numbers}', 'OpenSSL', counts='opens:{numbers}', needs='openssl')
kind('gcc', 'gcc -O2 -S -o gcc.s {src}/compute.c', 'the C compiler', counts='opens:{src}/compute.c', needs='gcc')
kind('clang', 'clang -O2 -S -o clang.s {src}/compute.c', 'clang', counts='opens:{src}/compute.c', needs='clang')
kind('tar', 'tar -czP --owner=0 --group=0 --mtime=@0 -f all.tar.gz {numbers} {input}', 'tar with gzip', counts='opens:{numbers}', needs='tar')
kind('git', '{git} diff --no-index --stat {input} {numbers}', 'git', counts='executions:{git}', needs='git')
kind('ffmpeg', 'ffmpeg -v error -nostdin -f u8 -ar 8000 -ac 1 -i {numbers} -f md5 -threads 2 -', 'ffmpeg', counts='opens:{numbers}', needs='ffmpeg')

kind('chromium', 'chromium --headless --no-sandbox --disable-gpu --user-data-dir={keep}/chromium --dump-dom file://{src}/page.html', 'Chromium, a page',
     counts='opens:{src}/page.html', needs='chromium', normalise=lambda text: re.sub(rb'[0-9]{6,}', b'N', re.sub(rb'(?m)^\[.*\n', b'', text)))

# --- servers: they listen on the loopback interface, get a bounded number of requests, and are ended by a signal


def wait_for_port(run):
    def connects():
        try:
            with socket.create_connection(('127.0.0.1', run.port), 1):
                return True
        except OSError:
            return False
    run.until(connects, 'answer on its port', 60)


def client(run, *words, seconds=120):
    """Runs a client to its end, and returns its output."""
    done = subprocess.run(words, capture_output=True, text=True, errors='replace', timeout=seconds, check=False, env=dict(os.environ, LC_ALL='C'))
    if done.returncode:
        raise RuntimeError(f'{words[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[:200]}')
    return done.stdout


def redis_configuration(run):
    with open(os.path.join(run.context.keep, 'redis.conf'), 'w', encoding='ascii') as file:
        file.write(f'bind 127.0.0.1\nport {run.port}\nsave ""\nappendonly no\ndaemonize no\nloglevel warning\nlogfile /dev/null\n')


def redis_load(run):
    wait_for_port(run)
    output = client(run, 'redis-benchmark', '-p', str(run.port), '-n', '5000', '-c', '10', '-q', '-t', 'set,get,lpush,lrange_100,mset')
    run.replies += f"{output.replace(chr(13), chr(10)).count('requests per second')} tests\n"
    run.replies += client(run, 'redis-cli', '-p', str(run.port), 'eval', 'local s = 0 for i = 1, 1000000 do s = (s * 31 + i) % 1000003 end return s', '0')
    os.kill(run.named('redis-server'), signal.SIGTERM)


kind('redis', 'redis-server {keep}/redis.conf', 'Redis with redis-benchmark', counts='opens:{keep}/redis.conf',
     needs='redis-server redis-benchmark redis-cli', prepare=redis_configuration, drive=redis_load)


def nginx_configuration(run):
    folder = run.context.keep
    with open(os.path.join(folder, 'page.html'), 'w', encoding='ascii') as file:
        file.write('line of the page\n' * 2000)
    paths = ''.join(f'{name}_temp_path {folder}/nginx-{name};\n' for name in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    with open(os.path.join(folder, 'nginx.conf'), 'w', encoding='ascii') as file:
        file.write(f'daemon off;\nworker_processes 2;\npid {folder}/nginx.pid;\nerror_log stderr crit;\nevents {{ }}\nhttp {{\naccess_log off;\n{paths}'
                   f'gzip on;\ngzip_min_length 1;\ngzip_types text/plain;\nserver {{ listen 127.0.0.1:{run.port}; root {folder}; }}\n}}\n')


def nginx_load(run):
    wait_for_port(run)
    good = []

    def requests(compressed):
        for _ in range(400):
            with socket.create_connection(('127.0.0.1', run.port), 30) as connection:
                extra = 'Accept-Encoding: gzip\r\n' if compressed else ''
                connection.sendall(f'GET /page.html HTTP/1.1\r\nHost: localhost\r\n{extra}Connection: close\r\n\r\n'.encode())
                answer = b''
                while True:
                    part = connection.recv(65536)
                    if not part:
                        break
                    answer += part
                good.append(answer.startswith(b'HTTP/1.1 200') and (compressed or answer.endswith(b'line of the page\n' * 2000)))

    clients = [threading.Thread(target=requests, args=(number % 2,)) for number in range(4)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    run.replies += f'{sum(good)} answers\n'
    os.kill(run.named('nginx'), signal.SIGTERM)


kind('nginx', 'nginx -e stderr -c {keep}/nginx.conf', 'nginx with a client of four threads', counts='opens:{keep}/nginx.conf', needs='nginx',
     prepare=nginx_configuration, drive=nginx_load)


def memcached_load(run):
    wait_for_port(run)
    found = 0
    with socket.create_connection(('127.0.0.1', run.port), 30) as connection:
        file = connection.makefile('rwb')
        for i in range(4000):
            value = b'value %d ' % i * 20
            file.write(b'set key%d 0 0 %d\r\n%s\r\nget key%d\r\n' % (i, len(value), value, i))
            file.flush()
            lines = [file.readline() for _ in range(4)]
            found += lines[0] == b'STORED\r\n' and lines[2] == value + b'\r\n'
    run.replies += f'{found} values\n'
    os.kill(run.named('memcached'), signal.SIGTERM)


kind('memcached', '{memcached} -l 127.0.0.1 -p {port} -U 0 -u nobody -t 4', 'memcached with a client', counts='executions:{memcached}',
     needs='memcached', drive=memcached_load)


def copy_database(run):
    target = os.path.join(run.context.keep, 'database')
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(['cp', '-a', run.context.program('database'), target], check=True)


def postgres_load(run):
    def ready():
        return subprocess.run(['pg_isready', '-q', '-h', '127.0.0.1', '-p', str(run.port)], check=False, timeout=30).returncode == 0
    run.until(ready, 'answer of postgres', 60)
    server = ['-h', '127.0.0.1', '-p', str(run.port), '-U', 'nobody', 'postgres']
    client(run, 'pgbench', '-q', '-i', '-s', '1', *server)
    output = client(run, 'pgbench', '-n', '-c', '4', '-j', '1', '-t', '100', *server)
    run.replies += ''.join(line + '\n' for line in output.splitlines() if line.startswith('number of transactions'))
    run.replies += client(run, 'psql', '-Atc', 'select count(*), sum(bid) from pgbench_accounts', *server)
    with open(os.path.join(run.context.keep, 'database', 'postmaster.pid'), encoding='utf-8') as file:
        os.kill(int(file.readline()), signal.SIGINT)


kind('postgres', '{postgres} -D {keep}/database -h 127.0.0.1 -p {port} -k {keep} -c fsync=off -c log_min_messages=panic', 'PostgreSQL with pgbench',
     counts='opens:{keep}/database/postgresql.conf', needs='pgbench psql pg_isready', as_nobody=True, prepare=copy_database, drive=postgres_load)


def ended_by(number, target):
    def drive(run):
        pid = run.program_pid()
        time.sleep(0.3)
        if not run.verb or target == 'program':
            os.kill(pid, number)
        elif target == 'group':
            os.killpg(run.process.pid, number)
        else:
            os.kill(run.process.pid, number)
    return drive


for number, signal_name in ((signal.SIGTERM, 'term'), (signal.SIGINT, 'int'), (signal.SIGHUP, 'hup')):
    for target in ('tool', 'group', 'program'):
        kind(f'{signal_name}-to-{target}', f'{{server}} {int(number)}', f'a server that ends by SIG{signal_name.upper()}, sent to the {target}',
             short=(signal_name, target) in (('term', 'tool'), ('int', 'group')), drive=ended_by(number, target))
