/* Demangling: what compilers write, and what nobody should. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "symbols/symbols.h"

static void need_library(void)
{
	if (!fm_symbols_can_demangle())
		skip();
}

static void names_as_written(void **state)
{
	static const struct {
		const char *mangled, *expected;
	} cases[] = {
	    /* C++ */
	    {"_Z3addii", "add(int, int)"},
	    {"_ZN4mesh6smoothIdLi4EEET_NS_5fieldIS1_EEm",
	     "mesh::smooth<double, 4>(mesh::field<double>, unsigned long)"},
	    {"_ZNSt6vectorIdSaIdEE9push_backERKd",
	     "std::vector<double, std::allocator<double> >::push_back(double const&)"},
	    {"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
	    {"_Z3addii.constprop.0", "add(int, int) [clone .constprop.0]"},
	    {"_ZN4mesh5cellsE", "mesh::cells"},
	    {"_ZTVN4mesh4cellE", "vtable for mesh::cell"},
	    /* Rust, legacy: without the hash */
	    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
	    {"_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
	     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"},
	    /* Rust, v0 */
	    {"_RNvC6_123foo3bar", "123foo::bar"},
	    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	    {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
	    {"_RNCNvC7mycrate4main0", "mycrate::main::{closure#0}"},
	};
	char text[256];

	(void)state;
	need_library();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(fm_symbols_demangle(cases[i].mangled, text, sizeof(text)), cases[i].expected);
		assert_ptr_equal(fm_symbols_demangle(cases[i].mangled, text, sizeof(text)), text);
	}
}

static void modules_of_fortran(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(fm_symbols_demangle("__grid_MOD_relax", text, sizeof(text)), "grid::relax");
	assert_string_equal(fm_symbols_demangle("__my_grid2_MOD_re_lax", text, sizeof(text)), "my_grid2::re_lax");
}

static void other_names_stay(void **state)
{
	static const char *const names[] = {
	    "",
	    "main",
	    "solve_",
	    "_start",
	    "_Z",
	    "_ZN",
	    "_R",
	    "_RNv",
	    "__libc_f",
	    "_MOD_",
	    "___MOD_f",
	    "__grid_MOD_",
	    "__A_MOD_b",
	    "i",
	    "_ZN4mesh",
	    "foo.constprop.0",
	    "_Z3addi.\n",
	    "_ZN1a17hxyzE",
	    "_Znot_mangled",
	};
	char text[64] = "untouched";

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_ptr_equal(fm_symbols_demangle(names[i], text, sizeof(text)), names[i]);
}

/* First the parameters go, then the middle. */
static void little_room(void **state)
{
	static const char mangled[] = "_ZN4mesh6smoothIdLi4EEET_NS_5fieldIS1_EEm";
	char text[64];

	(void)state;
	need_library();
	assert_string_equal(fm_symbols_demangle(mangled, text, 60),
	                    "mesh::smooth<double, 4>(mesh::field<double>, unsigned long)");
	assert_string_equal(fm_symbols_demangle(mangled, text, 59), "mesh::smooth<double, 4>");
	assert_string_equal(fm_symbols_demangle(mangled, text, 24), "mesh::smooth<double, 4>");
	assert_string_equal(fm_symbols_demangle(mangled, text, 20), "mesh::sm…uble, 4>");
	for (size_t size = 1; size < 60; size++) {
		memset(text, '#', sizeof(text));
		fm_symbols_demangle(mangled, text, size);
		assert_true(strlen(text) < size);
		assert_int_equal(text[size], '#');
	}
}

/* Longer than what libiberty takes with little stack: expression templates make such names. */
static void long_names(void **state)
{
	static char mangled[8192], text[8192];
	char shorter[160];
	size_t used;

	(void)state;
	need_library();
	used = (size_t)snprintf(mangled, sizeof(mangled), "_ZN5kokos3runI");
	for (unsigned i = 0; i < 150; i++)
		used += (size_t)snprintf(mangled + used, sizeof(mangled) - used, "NS_4nodeE");
	snprintf(mangled + used, sizeof(mangled) - used, "EEvi");
	assert_true(strlen(mangled) > 1200);
	assert_string_not_equal(fm_symbols_demangle(mangled, text, sizeof(text)), mangled);
	assert_memory_equal(text, "kokos::run<kokos::node, kokos::node", 35);
	assert_string_equal(text + strlen(text) - 6, ">(int)");
	fm_symbols_demangle(mangled, shorter, sizeof(shorter));
	assert_true(strlen(shorter) > 150 && strlen(shorter) < 160);
	assert_memory_equal(shorter, "kokos::run<kokos::node", 22);
	assert_non_null(strstr(shorter, "…"));
	assert_string_equal(shorter + strlen(shorter) - 12, "kokos::node>");
}

/* A pair of pairs of pairs ...: 2^60 numbers in 600 bytes. */
static void names_that_explode(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char mangled[2048], text[8192];
	size_t used;

	(void)state;
	need_library();
	used = (size_t)snprintf(mangled, sizeof(mangled), "_Z1fI1aSt4pairIS0_S0_E");
	for (unsigned i = 2; i < 62; i++) {
		char number[8] = "";

		if (i < 36)
			snprintf(number, sizeof(number), "%c", digits[i]);
		else
			snprintf(number, sizeof(number), "%c%c", digits[i / 36], digits[i % 36]);
		used += (size_t)snprintf(mangled + used, sizeof(mangled) - used, "S1_IS%s_S%s_E", number, number);
	}
	snprintf(mangled + used, sizeof(mangled) - used, "Evv");
	fm_symbols_demangle(mangled, text, sizeof(text));
	assert_memory_equal(text, "f<a, std::pair<a, a>, std::pair<std::pair<a, a>, std::pair<a, a> >", 66);
	assert_true(strlen(text) < sizeof(text));
	assert_string_equal(text + strlen(text) - 3, "…");
	/* Rust that refers to itself without end, and without printing anything */
	fm_symbols_demangle("_RIB_E", text, sizeof(text));
	fm_symbols_demangle("_RINvC1a1fTB9_B9_EE", text, sizeof(text));
	fm_symbols_demangle("_RINvC1a1fTBa_Ba_ETBb_Bb_EE", text, sizeof(text));
}

static void enormous_and_nested_names(void **state)
{
	static const char *const beginnings[] = {"_Z", "_ZN", "_R", "_RNv", "__", "_ZN1a"};
	static const char *const pieces[] = {"P",     "N",   "I",  "1aI", "R",  "T",   "F",    "St4pairI",
	                                     "X",     "cv",  "Li", "S_",  "T_", "A_",  "DpT_", "_MOD_",
	                                     "cvT_I", "RT_", "KP", "Z",   "1a", "IB_", "TB0_", "NvNt"};
	size_t size = 1 << 20;
	char *name = malloc(size + 1), text[512];

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++)
			for (size_t length = 500; length <= size; length *= length < 16000 ? 2 : 64) {
				size_t used = strlen(beginnings[i]);

				strcpy(name, beginnings[i]);
				while (used + strlen(pieces[k]) <= length) {
					memcpy(name + used, pieces[k], strlen(pieces[k]));
					used += strlen(pieces[k]);
				}
				name[used] = '\0';
				fm_symbols_demangle(name, text, sizeof(text));
				/* as many ends as beginnings */
				memset(name + used / 2, 'E', used - used / 2);
				fm_symbols_demangle(name, text, sizeof(text));
			}
	free(name);
}

static void random_names(void **state)
{
	static const char *const pieces[] = {
	    "_Z", "_R",  "N",           "E",  "I",   "1a", "3foo", "S_", "S0_", "T_",   "T0_", "P",
	    "R",  "K",   "i",           "d",  "v",   "St", "Sa",   "Ss", "L",   "Li4E", "X",   "F",
	    "A",  "A4_", "D",           "Dp", "DT",  "cv", "pl",   "sr", "Z",   "U",    "Ul",  "Ut",
	    "_",  "C1",  "D0",          "B_", "B0_", "C",  "Nv",   "Nt", "M",   "Y",    "s_",  "17h0123456789abcdef",
	    ".",  "0",   "99999999999", "u",  "J",   "O",  "fp",   "fL", "il",  "tl",   "nw",  "cl"};
	struct fm_random random;
	char name[1200], text[300];

	(void)state;
	fm_random_seed(&random, 11);
	for (unsigned i = 0; i < 200000; i++) {
		size_t used = 0, count = fm_random_below(&random, i % 100 ? 24 : 400);

		strcpy(name, fm_random_below(&random, 4) ? "_Z" : "_R");
		used = 2;
		for (size_t k = 0; k < count; k++) {
			char byte[2] = {(char)(1 + fm_random_below(&random, 255)), '\0'};
			const char *piece = fm_random_below(&random, 50)
			                        ? pieces[fm_random_below(&random, sizeof(pieces) / sizeof(pieces[0]))]
			                        : byte;

			if (used + strlen(piece) >= sizeof(name))
				break;
			strcpy(name + used, piece);
			used += strlen(piece);
		}
		if (fm_symbols_demangle(name, text, sizeof(text)) == text)
			for (const char *byte = text; *byte; byte++)
				assert_false((unsigned char)*byte < 0x20);
	}
}

static void texts_are_elided_in_the_middle(void **state)
{
	static const struct {
		const char *text;
		size_t columns, size;
		const char *expected;
	} cases[] = {
	    {"abcdefghij", 10, 64, "abcdefghij"},
	    {"abcdefghij", 9, 64, "abcd…ghij"},
	    {"abcdefghij", 8, 64, "abcd…hij"},
	    {"abcdefghij", 3, 64, "a…j"},
	    {"abcdefghij", 2, 64, "a…"},
	    {"abcdefghij", 1, 64, "…"},
	    {"abcdefghij", 0, 64, ""},
	    {"", 0, 64, ""},
	    {"", 5, 64, ""},
	    {"äöüßäöüß", 8, 64, "äöüßäöüß"},
	    {"äöüßäöüß", 5, 64, "äö…üß"},
	    /* in little room */
	    {"abcdefghij", 100, 11, "abcdefghij"},
	    {"abcdefghij", 100, 10, "abc…hij"},
	    {"abcdefghij", 100, 4, "…"},
	    {"abcdefghij", 100, 3, ""},
	    {"äöüßäöüß", 100, 12, "äö…üß"},
	    {"äöüßäöüß", 100, 11, "äö…ß"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		assert_string_equal(fm_text_elide(text, cases[i].size, cases[i].text, cases[i].columns),
		                    cases[i].expected);
		assert_true(fm_text_width(text) <= cases[i].columns);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_as_written),
	    cmocka_unit_test(modules_of_fortran),
	    cmocka_unit_test(other_names_stay),
	    cmocka_unit_test(little_room),
	    cmocka_unit_test(long_names),
	    cmocka_unit_test(names_that_explode),
	    cmocka_unit_test(enormous_and_nested_names),
	    cmocka_unit_test(random_names),
	    cmocka_unit_test(texts_are_elided_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
