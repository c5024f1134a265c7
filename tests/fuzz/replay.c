/* Without libFuzzer: every file named, or of the folders named, and a few thousand mutations of each, always the same.

     fuzz_NAME FILE-OR-FOLDER...      FATHOM_MUTATIONS=N for another number of mutations of each file

   Before each input it is kept in memory that a signal handler writes to fuzz_NAME.finding, so that what kills the
   reader can be looked at and put into the corpus. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"

enum { LARGEST = 1 << 20, MUTATIONS = 2000 };

static uint8_t input[2 * LARGEST];
static size_t length;
static char finding[256];
static unsigned files, runs;

static void keep_finding(int number)
{
	int file = open(finding, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (file >= 0 && write(file, input, length) >= 0)
		close(file);
	signal(number, SIG_DFL);
	raise(number);
}

static void run(void)
{
	runs++;
	LLVMFuzzerTestOneInput(input, length);
}

static void replace(size_t at, size_t old, const char *with, size_t size)
{
	if (length - old + size > sizeof(input))
		return;
	memmove(input + at + size, input + at + old, length - at - old);
	memcpy(input + at, with, size);
	length = length - old + size;
}

static bool ends_token(uint8_t byte)
{
	return strchr(" \t\n,=:\"{}[]()+-*/", byte) != NULL; /* and the byte 0 */
}

/* A word at a random place: where it begins and how long it is. */
static size_t token(struct fm_random *random, size_t *ret_size)
{
	size_t at = fm_random_below(random, length), end;

	while (at && !ends_token(input[at - 1]))
		at--;
	for (end = at; end < length && !ends_token(input[end]);)
		end++;
	*ret_size = end - at;
	return at;
}

/* One change of a kind that has broken readers before. */
static void mutate(struct fm_random *random)
{
	static const char *const words[] = {"0",
	                                    "-1",
	                                    "1",
	                                    "99999999999999999999",
	                                    "4294967296",
	                                    "18446744073709551615",
	                                    "-9223372036854775808",
	                                    "1e308",
	                                    "1e999",
	                                    "0x7fffffff",
	                                    "nan",
	                                    "inf",
	                                    "0.0000001",
	                                    "",
	                                    "null",
	                                    "true",
	                                    "\"",
	                                    "{}",
	                                    "[]",
	                                    "%s%n",
	                                    "#",
	                                    "\xff",
	                                    "\xc3",
	                                    "((((((((",
	                                    ")",
	                                    "-",
	                                    "*",
	                                    ",",
	                                    "=",
	                                    "\r",
	                                    "\t"};
	char other[64];
	size_t at, size, second, second_size;

	if (!length) {
		input[length++] = (uint8_t)fm_random_below(random, 256);
		return;
	}
	switch (fm_random_below(random, 7)) {
	case 0: /* a bit */
		input[fm_random_below(random, length)] ^= (uint8_t)(1u << fm_random_below(random, 8));
		return;
	case 1: /* a byte */
		input[fm_random_below(random, length)] = (uint8_t)fm_random_below(random, 256);
		return;
	case 2: /* the end is missing */
		length = fm_random_below(random, length);
		return;
	case 3: /* a word of its own */
		at = token(random, &size);
		second = fm_random_below(random, sizeof(words) / sizeof(words[0]));
		replace(at, size, words[second], strlen(words[second]));
		return;
	case 4: /* a word from elsewhere in the file */
		second = token(random, &second_size);
		if (second_size >= sizeof(other))
			return;
		memcpy(other, input + second, second_size);
		at = token(random, &size);
		replace(at, size, other, second_size);
		return;
	case 5: /* something is missing */
		at = fm_random_below(random, length);
		size = fm_random_below(random, 40);
		replace(at, size < length - at ? size : length - at, "", 0);
		return;
	default: /* a piece twice, or very often */
		at = fm_random_below(random, length);
		size = fm_random_below(random, sizeof(other));
		size = size < length - at ? size : length - at;
		memcpy(other, input + at, size);
		for (uint64_t times = fm_random_below(random, 8) ? 1 : 300; times; times--)
			replace(at, 0, other, size);
		return;
	}
}

static void file(const char *path, unsigned mutations)
{
	static uint8_t original[LARGEST];
	FILE *stream = fopen(path, "re");
	struct fm_random random;
	size_t size;

	must(stream);
	size = fread(original, 1, sizeof(original), stream);
	fclose(stream);
	files++;
	memcpy(input, original, size);
	length = size;
	run();
	fm_random_seed(&random, 1 + size);
	for (unsigned i = 0; i < mutations; i++) {
		memcpy(input, original, size);
		length = size;
		for (uint64_t changes = 1 + fm_random_below(&random, 4); changes; changes--)
			mutate(&random);
		run();
	}
}

static void folder(const char *path, unsigned mutations)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);

	must(count >= 0);
	for (int i = 0; i < count; i++) {
		char name[1024];
		struct stat information;

		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && !stat(name, &information) && S_ISREG(information.st_mode))
			file(name, mutations);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("FATHOM_MUTATIONS");
	unsigned mutations = wanted ? (unsigned)strtoul(wanted, NULL, 10) : MUTATIONS;

	snprintf(finding, sizeof(finding), "%s.finding", argv[0]);
	signal(SIGABRT, keep_finding);
	signal(SIGSEGV, keep_finding);
	signal(SIGFPE, keep_finding);
	for (int i = 1; i < argc; i++) {
		struct stat information;

		must(!stat(argv[i], &information));
		if (S_ISDIR(information.st_mode))
			folder(argv[i], mutations);
		else
			file(argv[i], mutations);
	}
	printf("%u files, %u inputs\n", files, runs);
	return files ? 0 : 1;
}
