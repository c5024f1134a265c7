/* sampled_recording FILE SAMPLES KIND: writes a recording whose truth is known. */
#include <stdio.h>
#include <stdlib.h>

#include "recording/store.h"
#include "samples/synthetic.h"

int main(int argc, char **argv)
{
	struct fm_recording *recording;
	struct fm_error error;

	if (argc != 4)
		return 2;
	recording = synthetic_recording((unsigned)atoi(argv[2]), 1, (enum synthetic_kind)atoi(argv[3]));
	if (fm_recording_settle(recording, &error) || fm_store_save(argv[1], recording, &error)) {
		fprintf(stderr, "%s\n", error.message);
		return 1;
	}
	fm_recording_free(recording);
	return 0;
}
