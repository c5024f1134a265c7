// C#: threads, a dictionary, exceptions; compiled while it runs.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;

static class Compute {
	static int Main() {
		string path = Environment.GetEnvironmentVariable("COUNTED");
		if (path != null)
			File.AppendAllText(path, "once\n");
		var table = new Dictionary<string, long>();
		for (long i = 0; i < 500000; i++) {
			string key = "key" + i % 3000;
			long sum;
			table.TryGetValue(key, out sum);
			table[key] = sum + i;
		}
		long[] values = new long[3];
		var threads = new Thread[3];
		for (int t = 0; t < 3; t++) {
			int number = t;
			threads[t] = new Thread(() => { for (long i = 0; i < 5000000; i++) values[number] = values[number] * 31 + i; });
			threads[t].Start();
		}
		foreach (var thread in threads)
			thread.Join();
		int caught = 0;
		for (int i = 0; i < 500; i++)
			try { throw new InvalidOperationException(); } catch (InvalidOperationException) { caught++; }
		Console.WriteLine("{0} {1} {2}", table["key77"], values[2], caught);
		return 17;
	}
}
