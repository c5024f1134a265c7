/* Signals shared with the program. The functions that set handlers are interposed: the program sees only its own
   handlers. */
#ifndef FATHOM_RECORD_SIGNALS_H
#define FATHOM_RECORD_SIGNALS_H

/* Installs handlers for the timer's signal and for faults, once per process. 0 or a negative errno. */
int fm_signals_open(void);

#endif
