/* Cycles from the laboratory: the shares of a simulated core are replaced by those that the real one showed. */
#ifndef FATHOM_MODEL_MEASURED_WAITING_H
#define FATHOM_MODEL_MEASURED_WAITING_H

#include "model/picture.h"

/* Sets picture->laboratory, and cycles and shares of levels by it. Only for whole programs of one thread. */
void fm_measured_waiting(const struct fm_recording *recording, struct fm_picture *picture);

#endif
