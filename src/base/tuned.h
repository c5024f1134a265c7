/* Tuned constants: numbers that no formula gives. Each folder has a table of its constants, which its tuning header
   includes after this header. The lines are
     TUNED(NAME, value, "unit", source, "test, command or page that checks the value")
     TUNED_COUNT(NAME, whole number, "unit", source, "…")
     TUNED_LIST(NAME, "unit", source, "…", values…)
   Sources: measured, published or judged. A judged value is an estimate that its tests accept. */
#ifndef FATHOM_BASE_TUNED_H
#define FATHOM_BASE_TUNED_H

enum { FM_TUNED_measured, FM_TUNED_published, FM_TUNED_judged };

#define TUNED(name, value, unit, source, check)                               \
	_Static_assert(FM_TUNED_##source >= 0 && sizeof(unit check) > 1, ""); \
	static const double name = value;
#define TUNED_COUNT(name, value, unit, source, check)                         \
	_Static_assert(FM_TUNED_##source >= 0 && sizeof(unit check) > 1, ""); \
	enum { name = value };
#define TUNED_LIST(name, unit, source, check, ...)                            \
	_Static_assert(FM_TUNED_##source >= 0 && sizeof(unit check) > 1, ""); \
	static const double name[] = {__VA_ARGS__};

#endif
