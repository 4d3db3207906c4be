/* The command line: key=value. */
#include "device.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static int count;
static char **words;

void read_words(int n, char **arguments)
{
    count = n, words = arguments;
    prctl(PR_SET_TIMERSLACK, 1);
}

const char *word(const char *key, const char *otherwise)
{
    size_t length = strlen(key);
    for (int i = 1; i < count; i++) {
        if (!strncmp(words[i], key, length) && words[i][length] == '=') {
            return words[i] + length + 1;
        }
    }
    return otherwise;
}

long number(const char *key, long otherwise)
{
    const char *found = word(key, NULL);
    return found ? atol(found) : otherwise;
}

uint32_t address(const char *key) { return inet_addr(word(key, "10.0.0.1")); }

uint32_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}
