/* What the ends run. */
#pragma once

#include "ends.h"

/* Sends settings.octets: in chunks with pauses, or with stops. */
void send_stream(End &end);
/* Reads all, or a chunk at a time; may rest the station after so many octets. */
void read_stream(End &end);
/* Answers requests after a time; asks, and waits before it asks again. */
void serve(End &end);
void ask(End &end);
