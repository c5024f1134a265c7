// Java: threads, a hash map, streams, exceptions, garbage; the compiler of the virtual machine works meanwhile.
import java.io.FileWriter;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.LongStream;

public class Compute {
    public static void main(String[] arguments) throws Exception {
        if (System.getenv("COUNTED") != null)
            try (FileWriter mark = new FileWriter(System.getenv("COUNTED"), true)) {
                mark.write("once\n");
            }
        Map<String, Long> table = new HashMap<>();
        for (long i = 0; i < 300000; i++)
            table.merge("key" + i % 5000, i, Long::sum);
        long[] sums = new long[4];
        Thread[] threads = new Thread[4];
        for (int t = 0; t < 4; t++) {
            int number = t;
            threads[t] = new Thread(() -> {
                for (long i = 0; i < 5000000; i++)
                    sums[number] = sums[number] * 31 + i;
            });
            threads[t].start();
        }
        for (Thread thread : threads)
            thread.join();
        long caught = 0;
        for (int i = 0; i < 1000; i++)
            try {
                Object nothing = i % 2 == 0 ? null : "x";
                caught += nothing.hashCode() > 0 ? 1 : 0;
            } catch (NullPointerException exception) {
                caught += 1000;
            }
        System.out.println(table.get("key77") + " " + sums[3] + " " + caught + " " + LongStream.range(0, 1000000).parallel().sum());
        System.exit(3);
    }
}
