/* folded_recording FILE KIND: writes a recording whose truth is known. 0 usual, 1 simulated, 2 unmarked, 3 slower. */
#include <stdio.h>
#include <stdlib.h>

#include "fold/synthetic.h"
#include "recording/store.h"

int main(int argc, char **argv)
{
	struct folded_recipe recipe = {
	    .instances = 400, .samples = 6, .length = 0.02, .jitter = 0.01, .seed = 1, .copy_down = true};
	struct fm_recording *recording;
	struct fm_error error;
	int kind = argc == 3 ? atoi(argv[2]) : -1;

	if (kind < 0)
		return 2;
	recipe.simulated = kind == 1;
	recipe.unmarked = kind == 2;
	recipe.samples = kind == 2 ? 9 : kind == 1 ? 60 : recipe.samples;
	recipe.instances = kind == 1 ? 40 : recipe.instances;
	recipe.slower = kind == 3 ? 2 : 0;
	recipe.seed = (uint64_t)kind + 1;
	recording = folded_recording(&recipe);
	if (!recording || fm_store_save(argv[1], recording, &error))
		return 1;
	fm_recording_free(recording);
	return 0;
}
