// What the programs of this folder have in common: settings of the command line (key=value), the time, and the end.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char **words;
static int count_of_words;
static volatile sig_atomic_t is_over;

static const char *text(const char *key, const char *otherwise) {
    size_t octets = strlen(key);
    for (int i = 0; i < count_of_words; i++)
        if (!strncmp(words[i], key, octets) && words[i][octets] == '=') return words[i] + octets + 1;
    return otherwise;
}
static double number(const char *key, double otherwise) {
    const char *it = text(key, NULL);
    return it ? atof(it) : otherwise;
}
static double now(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec + it.tv_nsec / 1e9;
}
static inline void over(int it) { (void)it; is_over = 1; }
