/* The countdown has ended at a reference. Compiled for general registers only: the vector registers are the program's.
 */
#include "translate/internal.h"

bool fm_translate_count(struct fm_translator *translator)
{
	const struct exit_record *exit = &translator->exits[(uint32_t)translator->slots->exit];

	translator->slots->resume = (uint64_t)(translator->code + exit->patch);
	return !translator->client.on_counted ||
	       !translator->client.on_counted(translator->client.context, &translator->sites[exit->site],
	                                      translator->slots->target, translator->slots->registers);
}
