/* Signals that the runtime shares with the program. The program sees its own handlers, as if nobody else had any: the
   functions that set them are interposed. */
#ifndef FATHOM_RECORD_SIGNALS_H
#define FATHOM_RECORD_SIGNALS_H

/* Takes over the timer's signal and those of faults. Once per process; 0 or a negative errno. */
int fm_signals_open(void);

#endif
