// C++ threads: futures, atomics, condition variables, containers: threads COUNT
#include "counted.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

int main(int count, char **arguments)
{
	long length = count > 1 ? std::atol(arguments[1]) : 100000, taken = 0;
	std::deque<long> queue;
	std::mutex mutex;
	std::condition_variable filled;
	std::atomic<long> sum{0};

	counted();
	std::thread consumer([&] {
		for (long i = 0; i < length; i++) {
			std::unique_lock<std::mutex> lock(mutex);
			filled.wait(lock, [&] { return !queue.empty(); });
			taken += queue.front();
			queue.pop_front();
		}
	});
	for (long i = 0; i < length; i++) {
		{
			std::lock_guard<std::mutex> lock(mutex);
			queue.push_back(i);
		}
		filled.notify_one();
	}
	consumer.join();
	std::map<long, std::future<unsigned long>> futures;
	for (long i = 0; i < 8; i++)
		futures.emplace(i, std::async(std::launch::async, [i, &sum] { sum += i; return work(500000 + i); }));
	unsigned long mixed = 0;
	for (auto &future : futures)
		mixed = mixed * 31 + future.second.get();
	std::cout << taken << ' ' << sum << ' ' << mixed << std::endl;
}
