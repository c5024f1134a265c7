// D: garbage collection, associative arrays, threads.
import core.stdc.stdlib : exit;
import core.thread;
import std.file : append;
import std.process : environment;
import std.stdio;

void main()
{
	string path = environment.get("COUNTED", "");
	if (path != "")
		append(path, "once\n");
	long[string] table;
	foreach (i; 0 .. 300_000)
		table["key" ~ cast(char)('a' + i % 26)] += i;
	ulong[2] values;
	auto thread = new Thread({ foreach (i; 0 .. 60_000_000) values[1] = values[1] * 31 + i; });
	thread.start();
	foreach (i; 0 .. 60_000_000)
		values[0] = values[0] * 31 + i;
	thread.join();
	writeln(table["keyh"], " ", values);
}
