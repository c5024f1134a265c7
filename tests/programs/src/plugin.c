/* A library for dlopen.c: a constructor, a destructor, a thread-local variable. */
static _Thread_local unsigned long calls;
static unsigned long loads;

__attribute__((constructor)) static void loaded(void)
{
	loads++;
}

unsigned long plugin(unsigned long value)
{
	calls++;
	for (int i = 0; i < 1000; i++)
		value = value * 31 + calls + loads;
	return value;
}
