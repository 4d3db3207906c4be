/* The compiler's own definitions: there is no C library. */
#include "stdint-gcc.h"
