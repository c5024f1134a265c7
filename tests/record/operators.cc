// Every operator new and delete of C++, and what was logged of them: address, size, who allocated, that it ended.
// With the argument "any" it only says whether the operators work, whoever allocates; where ENOUGH is set memory does
// not run out, because there are allocators that end the program then.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#define _Bool bool
extern "C" {
#include "record/log_double.h"
}

static const struct record_double *runtime;
static int failures;

static void check(bool good, const char *what)
{
	if (!good) {
		std::printf("FAILED: %s\n", what);
		failures++;
	}
}

static const double_entry *find(size_t begin, uint32_t kind, const void *address)
{
	for (size_t i = begin; runtime && i < *runtime->count; i++) {
		const double_entry *entry = &runtime->entries[i];

		if (entry->kind == kind && entry->allocation.address == (uintptr_t)address)
			return entry;
	}
	return nullptr;
}

template <typename Allocate, typename Release>
static void pair(const char *name, size_t size, Allocate allocate, Release release)
{
	size_t begin = runtime ? *runtime->count : 0;
	void *address = allocate(size);
	const double_entry *entry = find(begin, FM_STREAM_ALLOCATE, address);

	check(address != nullptr, name);
	std::memset(address, 1, size);
	if (runtime) {
		check(entry && entry->allocation.size == size, name);
		check(entry && entry->allocation.allocator == FM_ALLOCATED_NEW, name);
		if (entry && entry->allocation.stack) {
			Dl_info here, there;
			uint64_t frame = runtime->stacks[entry->allocation.stack - 1].frames[0];

			check(dladdr((void *)check, &here) && dladdr((void *)frame, &there) &&
			          here.dli_fbase == there.dli_fbase,
			      "called from the program");
		}
		check(!find(begin, FM_STREAM_RELEASE, address), name);
		size_t ends = *runtime->count, count = 0;

		release(address, size);
		for (size_t i = ends; i < *runtime->count; i++)
			count += runtime->entries[i].kind == FM_STREAM_RELEASE;
		check(count == 1 && find(begin, FM_STREAM_RELEASE, address), name);
	} else {
		release(address, size);
	}
}

int main(int count, char **arguments)
{
	auto table = (const struct record_double *(*)())dlsym(RTLD_DEFAULT, "record_double");
	const std::align_val_t aligned{64};

	if (count == 1 && !table)
		return 2;
	if (count == 1)
		runtime = table();
	(void)arguments;
	bool enough = std::getenv("ENOUGH");
	for (size_t size : {size_t(64), size_t(4032), size_t(8192), size_t(1) << 21}) {
		pair(
		    "new", size, [](size_t s) { return operator new(s); }, [](void *p, size_t) { operator delete(p); });
		pair(
		    "new[]", size, [](size_t s) { return operator new[](s); },
		    [](void *p, size_t) { operator delete[](p); });
		pair(
		    "sized", size, [](size_t s) { return operator new(s); },
		    [](void *p, size_t s) { operator delete(p, s); });
		pair(
		    "sized[]", size, [](size_t s) { return operator new[](s); },
		    [](void *p, size_t s) { operator delete[](p, s); });
		pair(
		    "nothrow", size, [](size_t s) { return operator new(s, std::nothrow); },
		    [](void *p, size_t) { operator delete(p, std::nothrow); });
		pair(
		    "nothrow[]", size, [](size_t s) { return operator new[](s, std::nothrow); },
		    [](void *p, size_t) { operator delete[](p, std::nothrow); });
		pair(
		    "aligned", size, [=](size_t s) { return operator new(s, aligned); },
		    [=](void *p, size_t) { operator delete(p, aligned); });
		pair(
		    "aligned[]", size, [=](size_t s) { return operator new[](s, aligned); },
		    [=](void *p, size_t) { operator delete[](p, aligned); });
		pair(
		    "aligned sized", size, [=](size_t s) { return operator new(s, aligned); },
		    [=](void *p, size_t s) { operator delete(p, s, aligned); });
		pair(
		    "aligned sized[]", size, [=](size_t s) { return operator new[](s, aligned); },
		    [=](void *p, size_t s) { operator delete[](p, s, aligned); });
		pair(
		    "aligned nothrow", size, [=](size_t s) { return operator new(s, aligned, std::nothrow); },
		    [=](void *p, size_t) { operator delete(p, aligned, std::nothrow); });
		pair(
		    "aligned nothrow[]", size, [=](size_t s) { return operator new[](s, aligned, std::nothrow); },
		    [=](void *p, size_t) { operator delete[](p, aligned, std::nothrow); });
	}
	// failures go through our frames
	volatile size_t huge = size_t(1) << 62;
	int thrown = 0;
	for (int i = 0; i < 3 && !enough; i++) {
		try {
			operator delete(operator new(huge));
		} catch (const std::bad_alloc &) {
			thrown++;
		}
		try {
			operator delete[](operator new[](huge, aligned), aligned);
		} catch (const std::bad_alloc &) {
			thrown++;
		}
	}
	check(enough || thrown == 6, "bad_alloc");
	check(enough || operator new(huge, std::nothrow) == nullptr, "no bad_alloc");
	pair(
	    "after a failure", 100, [](size_t s) { return operator new(s); },
	    [](void *p, size_t) { operator delete(p); });
	// the library's own allocations
	std::vector<std::string> texts;
	for (int i = 0; i < 1000; i++)
		texts.push_back(std::string(i, 'x'));
	auto shared = std::make_shared<std::vector<std::string>>(texts);
	check(shared->back().size() == 999, "library");
	std::printf("%s\n", failures ? "bad" : "good");
	return failures != 0;
}
