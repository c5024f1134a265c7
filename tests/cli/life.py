#!/usr/bin/env python3
"""A program under Fathom lives as long as it would: life.py TOOL SOURCE BUILD [KILLS]. Signals reach it once and as they are, whoever they are sent to;
the terminal's Ctrl-C, Ctrl-Z and fg work; it goes on when the tool is killed, and the next verb removes what is left behind."""
import os
import pty
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOOL, SOURCE, BUILD = sys.argv[1:4]
PATIENCE = 60  # s: for what happens within a moment on a machine that has nothing else to do
checks = failures = 0

SERVER = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static int out;
static void tell(int number)
{
	dprintf(out, "got %d\n", number);
	if (number != SIGUSR1)
		_exit(10 + number);
}
int main(int count, char **arguments)
{
	const int handled[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGTERM};
	volatile double sum = 0;

	(void)count;
	out = open(arguments[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
	for (unsigned i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		signal(handled[i], tell);
	dprintf(out, "begin %d\n", getpid());
	for (int turn = 0; turn < 60000; turn++) {
		for (int i = 0; i < 300000; i++)
			sum += i;
		usleep(1000);
	}
	return 0;
}
"""


def check(holds, *words):
    global checks, failures
    checks += 1
    if not holds:
        failures += 1
        print("FAILED:", *words, file=sys.stderr)


def until(condition):
    end = time.time() + PATIENCE
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def state(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as text:
            return text.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


class Run:
    """The server under one verb."""

    def __init__(self, folder, words, terminal=None):
        self.log = os.path.join(folder, "log")
        if os.path.exists(self.log):
            os.unlink(self.log)
        command = [TOOL, *words, "--", os.path.join(folder, "server"), self.log]
        if terminal is None:
            self.tool = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        else:
            self.tool = terminal(command)
        self.words = " ".join(words)
        check(until(lambda: "begin" in self.text()), self.words, "did not begin")
        self.process = int(self.text().split()[1])
        time.sleep(0.3)

    def text(self):
        try:
            with open(self.log, encoding="utf-8") as text:
                return text.read()
        except OSError:
            return ""

    def got(self):
        return [int(line.split()[1]) for line in self.text().splitlines() if line.startswith("got")]

    def end(self):
        try:
            self.tool.communicate(timeout=PATIENCE)
            return self.tool.returncode
        except subprocess.TimeoutExpired:
            self.tool.kill()
            return "it hangs"


def left_behind(folder):
    return [name for name in os.listdir(folder) if name.startswith("fathom-r")]


def signals(folder, verbs):
    for words in verbs:
        for receiver in ("tool", "group", "program"):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                run = Run(folder, words)
                if receiver == "tool":
                    os.kill(run.tool.pid, number)
                elif receiver == "group":
                    os.killpg(run.tool.pid, number)
                else:
                    os.kill(run.process, number)
                status = run.end()
                check(status == 10 + number and run.got() == [number], words, receiver, number, "status", status, "got", run.got())
        # one that the program survives arrives once
        run = Run(folder, words)
        os.kill(run.tool.pid, signal.SIGUSR1)
        check(until(lambda: run.got() == [signal.SIGUSR1]), words, "USR1", run.got())
        time.sleep(0.2)
        os.kill(run.tool.pid, signal.SIGTERM)
        check(run.end() == 10 + signal.SIGTERM, words, "TERM after USR1")
        check(run.got() == [signal.SIGUSR1, signal.SIGTERM], words, run.got())


def killed(folder, verbs, temporary):
    for words in verbs:
        run = Run(folder, words)
        os.kill(run.tool.pid, signal.SIGKILL)
        run.tool.wait()
        time.sleep(0.5)
        check(state(run.process) not in ("gone", "Z"), words, "the program died with the tool")
        os.kill(run.process, signal.SIGUSR1)
        check(until(lambda: run.got() == [signal.SIGUSR1]), words, "the program does not go on")
        # while the program lives, and after it
        subprocess.run([TOOL, "doctor"], stdout=subprocess.DEVNULL, check=True)
        check(left_behind(temporary) == [], words, "left behind:", left_behind(temporary))
        os.kill(run.process, signal.SIGUSR1)
        check(until(lambda: run.got() == [signal.SIGUSR1] * 2), words, "the program does not go on after that")
        os.kill(run.process, signal.SIGTERM)
        check(until(lambda: state(run.process) in ("gone", "Z")), words, "the program cannot be ended")
        check(left_behind(temporary) == [], words, "left behind in the end:", left_behind(temporary))


def kills(folder, verbs, temporary, count):
    """Many short runs, each of which loses its tool at a random moment: what is left is gone after the next verb."""
    program = ["sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; exit 7"]
    killed_ones = 0
    for number in range(count):
        words = verbs[number % len(verbs)]
        tool = subprocess.Popen([TOOL, *words, "--", *program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            status = tool.wait(random.uniform(0, 0.2))
            check(status == 7, words, "ended with", status)
        except subprocess.TimeoutExpired:
            tool.kill()
            tool.wait()
            killed_ones += 1
    time.sleep(2)
    subprocess.run([TOOL, "doctor"], stdout=subprocess.DEVNULL, check=True)
    check(left_behind(temporary) == [], "left behind:", left_behind(temporary))
    print(f"{count} runs, {killed_ones} of them killed")


def terminal(folder, words):
    """A shell with job control on a terminal of its own: Ctrl-Z, fg, Ctrl-C."""
    shell, master = None, None

    def begin(command):
        nonlocal shell, master
        shell, master = pty.fork()
        if not shell:
            os.execvp("bash", ["bash", "--norc", "-i"])
        os.set_blocking(master, False)
        os.write(master, (" ".join(command) + " ; echo status=$?\n").encode())
        return None

    text = ""

    def said(pattern):
        nonlocal text
        try:
            text += os.read(master, 65536).decode(errors="replace")
        except (BlockingIOError, OSError):
            pass
        return pattern in text

    run = Run(folder, words, begin)
    os.write(master, b"\x1a")
    check(until(lambda: state(run.process) == "T"), words, "Ctrl-Z does not stop the program", state(run.process))
    check(until(lambda: said("Stopped")), words, "the shell does not see it stopped", text)
    os.write(master, b"fg\n")
    check(until(lambda: state(run.process) in ("R", "S")), words, "fg does not let it go on")
    time.sleep(0.5)
    os.write(master, b"\x03")
    check(until(lambda: run.got() != []), words, "Ctrl-C does not arrive")
    check(until(lambda: state(run.process) in ("gone", "Z")), words, "Ctrl-C does not end it")
    os.write(master, b"\necho status=$?\n")
    check(until(lambda: said("status=12")), words, "Ctrl-C: the status is not the program's", text)
    check(run.got() == [signal.SIGINT], words, "Ctrl-C arrived", run.got())
    os.write(master, b"exit\n")
    os.waitpid(shell, 0)
    os.close(master)


def main():
    with tempfile.TemporaryDirectory() as folder:
        temporary = os.path.join(folder, "temporary")
        os.mkdir(temporary)
        os.environ["TMPDIR"] = temporary
        os.environ["XDG_DATA_HOME"] = folder
        os.makedirs(f"{folder}/fathom/machines")
        shutil.copy(f"{SOURCE}/tests/cli/example-profile.json", f"{folder}/fathom/machines/{socket.gethostname()}.json")
        with open(os.path.join(folder, "server.c"), "w", encoding="utf-8") as source:
            source.write(SERVER)
        subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-w", "-o", f"{folder}/server", f"{folder}/server.c"], check=True)
        stat = ["stat", "-o", f"{folder}/text"]
        record = ["record", "--force", "-o", f"{folder}/recording.fathom"]
        verbs = [stat, record]
        if os.path.exists(f"{BUILD}/libfathom-exact.so"):
            verbs.append(stat + ["--engine", "qemu", "--no-timing"])
        if len(sys.argv) > 4:
            kills(folder, verbs, temporary, int(sys.argv[4]))
            subprocess.run([TOOL, *record, "--", "true"], check=True, stderr=subprocess.DEVNULL)
            check([name for name in os.listdir(folder) if name.startswith("recording")] == ["recording.fathom"], os.listdir(folder))
        signals(folder, verbs)
        killed(folder, verbs, temporary)
        terminal(folder, stat)
        terminal(folder, record)
        check(left_behind(temporary) == [], "left behind:", left_behind(temporary))
    print(f"{checks} checks, {failures} failed")
    return 1 if failures or not checks else 0


sys.exit(main())
