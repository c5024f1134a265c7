/* Performance groups. Those that are accepted are evaluated. */
#include "fuzz/fuzz.h"

#include <math.h>

#include "counters/group.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fm_group group;
	struct fm_error error = {0};
	double counts[FM_GROUP_EVENTS_MAX];
	char *text = fuzz_text(data, size), list[200];
	int status = fm_group_parse(text, "fuzz.txt", &group, &error);

	free(text);
	if (status) {
		must(status < 0 && *error.message);
		return 0;
	}
	must(group.event_count && group.event_count <= FM_GROUP_EVENTS_MAX &&
	     group.metric_count <= FM_GROUP_METRICS_MAX);
	fm_group_list(&group, list, sizeof(list));
	must(strlen(list) < sizeof(list));
	for (unsigned i = 0; i < FM_GROUP_EVENTS_MAX; i++)
		counts[i] = i % 5 == 4 ? NAN : i % 3 ? 1e18 : 0;
	for (unsigned i = 0; i < group.metric_count; i++) {
		double value = 0;

		*error.message = '\0';
		status = fm_group_metric(&group, i, counts, 1.5, 2e9, &value, &error);
		must(!status || *error.message);
		must(status || !isinf(value));
	}
	return 0;
}
