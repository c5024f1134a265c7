/* Memory cleared or copied by the C library, which uses string instructions or stores past the caches for much of it:
   clear set|copy MIB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fathom.h>

int main(int count, char **arguments)
{
	size_t bytes = (size_t)(count > 2 ? atoi(arguments[2]) : 64) << 20;
	char *target = malloc(bytes), *source = malloc(bytes);

	if (!target || !source)
		return 1;
	memset(target, 1, bytes);
	memset(source, 2, bytes);
	fathom_region_begin("work");
	if (count > 1 && !strcmp(arguments[1], "copy"))
		memcpy(target, source, bytes);
	else
		memset(target, 3, bytes);
	fathom_region_end("work");
	printf("%d\n", target[bytes / 2] + source[bytes / 3]);
	return 0;
}
