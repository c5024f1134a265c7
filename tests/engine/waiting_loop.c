/* Loops that wait, and loops that look like it: the code of each, and an instruction in it. */
#include "check.h"

#include <string.h>

#include "engine/account/waiting_loop.h"

#define CODE(text) text, sizeof(text) - 1

static void loops_that_wait(void **state)
{
	static const struct {
		const char *words, *code;
		size_t length, at;
		bool waits;
	} cases[] = {
	    {"mov flag, %eax; test %eax, %eax; je", CODE("\x8b\x05\x00\x01\x00\x00\x85\xc0\x74\xf6\xc3"), 6, true},
	    {"pause; cmpl $0, (%rdi); jne", CODE("\xf3\x90\x83\x3f\x00\x75\xf9\xc3"), 2, true},
	    {"a queue is full: mov (%rsi), %rax; mov %rdi, %rdx; sub %rax, %rdx; cmp $63, %rdx; ja",
	     CODE("\x48\x8b\x06\x48\x89\xfa\x48\x29\xc2\x48\x83\xfa\x3f\x77\xf1\xc3"), 0, true},
	    {"mov $1, %eax; xchg %eax, (%rdi); test %eax, %eax; jne",
	     CODE("\xb8\x01\x00\x00\x00\x87\x07\x85\xc0\x75\xf5\xc3"), 7, true},
	    {"xor %eax, %eax; mov $1, %ecx; lock cmpxchg %ecx, (%rdi); jne",
	     CODE("\x31\xc0\xb9\x01\x00\x00\x00\xf0\x0f\xb1\x0f\x75\xf3\xc3"), 11, true},
	    {"at most 1000 times: add $1, %ecx; cmp; je; mov (%rdi), %eax; cmp %esi, %eax; je",
	     CODE("\x83\xc1\x01\x81\xf9\xe8\x03\x00\x00\x74\x06\x8b\x07\x39\xf0\x74\xef\xc3"), 13, true},
	    {"the address changes: add (%rdi), %rax; add $8, %rdi; cmp; jne",
	     CODE("\x48\x03\x07\x48\x83\xc7\x08\x48\x39\xf7\x75\xf4\xc3"), 3, false},
	    {"arithmetic with constants: mulsd a, %xmm0; addsd b, %xmm0; sub $1, %ecx; jne",
	     CODE("\xf2\x0f\x59\x05\x00\x01\x00\x00\xf2\x0f\x58\x05\x00\x02\x00\x00\x83\xe9\x01\x75\xeb\xc3"), 8,
	     false},
	    {"a sum: add (%rdi), %rax; sub $1, %ecx; jne", CODE("\x48\x03\x07\x83\xe9\x01\x75\xf8\xc3"), 3, false},
	    {"a store: mov %eax, (%rdi); sub $1, %ecx; jne", CODE("\x89\x07\x83\xe9\x01\x75\xf9\xc3"), 2, false},
	    {"a list: mov (%rdi), %rdi; test; jne", CODE("\x48\x8b\x3f\x48\x85\xff\x75\xf8\xc3"), 3, false},
	    {"an atomic counter: lock addq $1, (%rdi); sub $1, %ecx; jne",
	     CODE("\xf0\x48\x83\x07\x01\x83\xe9\x01\x75\xf6\xc3"), 5, false},
	    {"a call: call; cmpl $0, (%rdi); jne", CODE("\xe8\xfb\xff\xff\xff\x83\x3f\x00\x75\xf6\xc3"), 5, false},
	    {"no loop: mov (%rdi), %eax; ret", CODE("\x8b\x07\xc3"), 2, false},
	    {"no instruction: a part of one", CODE("\x8b\x05\x00"), 0, false},
	    {"no code", CODE(""), 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (fm_is_waiting_loop((const uint8_t *)cases[i].code, cases[i].length, cases[i].at) != cases[i].waits)
			fail_msg("%s: %s", cases[i].words, cases[i].waits ? "not found" : "taken for waiting");
}

/* Code of another process: any bytes. */
static void any_bytes_are_read(void **state)
{
	uint8_t bytes[2 * FM_WAITING_LOOP_BYTES];
	uint32_t random = 1;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++) {
			random = random * 1664525 + 1013904223;
			bytes[k] = (uint8_t)(random >> 24);
		}
		fm_is_waiting_loop(bytes, random % sizeof(bytes), (random >> 8) % sizeof(bytes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(loops_that_wait),
	    cmocka_unit_test(any_bytes_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
