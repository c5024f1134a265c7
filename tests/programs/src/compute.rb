# Ruby: hashes, strings, big numbers, threads, a fork.
File.write(ENV['COUNTED'], "once\n", mode: 'a') if ENV['COUNTED']
table = Hash.new(0)
300_000.times { |i| table["key#{i % 3000}"] += i }
threads = 4.times.map { |t| Thread.new { (1..50_000).inject { |a, b| (a * 31 + b + t) % 1_000_003 } } }
puts table['key7'], threads.map(&:value).inspect, (2**4000 % 1_000_000_007)
$stdout.flush
Process.wait(fork { exit!(6) })
puts $?.exitstatus
