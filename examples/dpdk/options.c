#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_red.h>

/* What a discipline takes for the rate of a link that is as fast as it goes. */
#define FASTEST_BPS 10000000000u
#define MAX_BPS 1000000000000u

static const char usage[] =
    "usage: forward EAL... -- --discipline NAME [option]... [PARAMETER=VALUE]...\n"
    "\n"
    "  --discipline NAME      any discipline of fairdrop, or rte_red (DPDK's own), or none (no queue)\n"
    "  --rate BPS             rate of each link, bit/s; 0, the default, is as fast as it goes\n"
    "  --packets N            end after N packets were received; 0, the default, is never\n"
    "  --seed N               the same random numbers in each run; otherwise they are of the system\n"
    "  --virtual-time BPS     packets arrive at this rate in a time of their own, until the devices have no more\n"
    "  --json                 print counters as one line of JSON\n"
    "  --fill FLOWS           number of flows whose UDP headers fill the buffers (for net_null, which leaves them)\n"
    "  --hold N               leave N packets waiting (with --rate 0), so that there is a queue to decide about\n"
    "  --no-flows             leave flow numbers out, for disciplines that do not look at them (droptail, red, pie, codel)\n"
    "  --mbufs N              buffers of the pool; by default what the queues may hold and the devices need\n"
    "\n"
    "Counters are printed at the end and on SIGUSR1; SIGINT and SIGTERM end it.\n";

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("forward: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

/* A whole number, or an end that names what would be one. */
static uint64_t whole(const char *name, const char *text, uint64_t low, uint64_t high, const char *unit) {
    char *rest;
    unsigned long long value;
    errno = 0;
    value = strtoull(text, &rest, 10);
    if (*text < '0' || *text > '9' || *rest != '\0' || errno != 0 || value < low || value > high) {
        fail("%s = \"%s\" is not valid: a whole number from %llu to %llu%s", name, text, (unsigned long long)low,
             (unsigned long long)high, unit);
    }
    return value;
}

/* Numbers that follow from a seed (splitmix64). */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void take_secret(struct options *options, bool seeded) {
    uint64_t state = options->seed;
    if (seeded) {
        for (unsigned at = 0; at < 4; ++at) options->key[at] = next(&state);
    } else if (getrandom(options->key, sizeof options->key, 0) != (ssize_t)sizeof options->key ||
               getrandom(&options->seed, sizeof options->seed, 0) != (ssize_t)sizeof options->seed) {
        fail("getrandom: %s", strerror(errno));
    }
}

static void set_red(struct options *options, const char *name, const char *value) {
    struct {
        const char *name;
        uint16_t *place;
        uint16_t low, high;
    } known[] = {
        {"min_th", &options->red.min_th, 0, RTE_RED_MAX_TH_MAX},
        {"max_th", &options->red.max_th, 1, RTE_RED_MAX_TH_MAX},
        {"maxp_inv", &options->red.maxp_inv, RTE_RED_MAXP_INV_MIN, RTE_RED_MAXP_INV_MAX},
        {"wq_log2", &options->red.wq_log2, RTE_RED_WQ_LOG2_MIN, RTE_RED_WQ_LOG2_MAX},
    };
    if (strcmp(name, "limit") == 0) {
        options->limit = (uint32_t)whole(name, value, 1, 8000000, " packets");
        return;
    }
    for (unsigned at = 0; at < sizeof known / sizeof *known; ++at) {
        if (strcmp(name, known[at].name) == 0) {
            *known[at].place = (uint16_t)whole(name, value, known[at].low, known[at].high, "");
            return;
        }
    }
    fail("rte_red has no parameter \"%s\"; there are limit, min_th, max_th, maxp_inv and wq_log2", name);
}

/* The limit in force, which the library keeps to itself: the default of the catalogue until another is given. */
static uint32_t default_limit(const char *name) {
    fairdrop_discipline discipline;
    fairdrop_parameter parameter;
    for (size_t at = 0; fairdrop_discipline_at(at, &discipline) == FAIRDROP_STATUS_OK; ++at) {
        if (strcmp(discipline.name, name) != 0) continue;
        for (size_t number = 0; fairdrop_parameter_at(at, number, &parameter) == FAIRDROP_STATUS_OK; ++number) {
            if (strcmp(parameter.name, "limit") == 0) return (uint32_t)strtod(parameter.default_text, NULL);
        }
    }
    return 0;
}

static void begin(struct options *options) {
    fairdrop_error error;
    if (strcmp(options->discipline, "none") == 0) {
        options->kind = KIND_NONE;
        if (options->rate_bps > 0) fail("--rate = \"%llu\" is not valid: 0, since --discipline none has no queue",
                                        (unsigned long long)options->rate_bps);
        if (options->offered_bps > 0) fail("--virtual-time is not valid with --discipline none, which has no clock");
        if (options->hold > 0) fail("--hold = \"%u\" is not valid: 0, since --discipline none has no queue", options->hold);
    } else if (strcmp(options->discipline, "rte_red") == 0) {
        options->kind = KIND_RTE_RED;
        options->limit = 300;
        options->red = (struct red_options){.min_th = 100, .max_th = 200, .maxp_inv = 10, .wq_log2 = 9};
    } else {
        uint64_t link_bps = options->rate_bps > 0 ? options->rate_bps : FASTEST_BPS;
        options->kind = KIND_FAIRDROP;
        if (fairdrop_params_init(&options->params, options->discipline, link_bps, &error) < 0)
            fail("%s; also rte_red and none", error.message);
        options->limit = default_limit(options->discipline);
    }
}

static void set(struct options *options, char *word) {
    fairdrop_error error;
    char *value = strchr(word, '=');
    if (value == NULL) fail("\"%s\" is not valid: an option (see --help), or a parameter as NAME=VALUE", word);
    *value++ = '\0';
    if (options->kind == KIND_NONE) fail("--discipline none has no parameter \"%s\"; it has none", word);
    if (options->kind == KIND_RTE_RED) {
        set_red(options, word, value);
        return;
    }
    if (fairdrop_params_set(&options->params, word, value, &error) < 0) fail("%s", error.message);
    if (strcmp(word, "limit") == 0) options->limit = (uint32_t)strtod(value, NULL);
}

void options_read(struct options *options, int count, char **words) {
    fairdrop_error error;
    bool seeded = false;
    int parameters = 0;

    memset(options, 0, sizeof *options);
    options->flows = true;
    /* Parameters are kept until the discipline and the rate are known, wherever those stand. */
    for (int at = 0; at < count; ++at) {
        const char *name = words[at], *value;
        if (strcmp(name, "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        }
        if (strcmp(name, "--json") == 0) {
            options->json = true;
            continue;
        }
        if (strcmp(name, "--no-flows") == 0) {
            options->flows = false;
            continue;
        }
        if (strncmp(name, "--", 2) != 0) {
            words[parameters++] = words[at];
            continue;
        }
        if (at + 1 == count) fail("%s: its value is missing (see --help)", name);
        value = words[++at];
        if (strcmp(name, "--discipline") == 0) {
            options->discipline = value;
        } else if (strcmp(name, "--rate") == 0) {
            options->rate_bps = whole(name, value, 0, MAX_BPS, " bit/s; 0 is as fast as it goes");
        } else if (strcmp(name, "--virtual-time") == 0) {
            options->offered_bps = whole(name, value, 1, MAX_BPS, " bit/s, the rate at which packets arrive");
        } else if (strcmp(name, "--packets") == 0) {
            options->packets = whole(name, value, 0, UINT64_MAX, "; 0 is no end");
        } else if (strcmp(name, "--seed") == 0) {
            options->seed = whole(name, value, 0, UINT64_MAX, "");
            seeded = true;
        } else if (strcmp(name, "--hold") == 0) {
            options->hold = (uint32_t)whole(name, value, 0, 8000000, " packets");
        } else if (strcmp(name, "--fill") == 0) {
            options->fill = (uint32_t)whole(name, value, 1, 1u << 24, " flows");
        } else if (strcmp(name, "--mbufs") == 0) {
            options->mbufs = (uint32_t)whole(name, value, 64, 1u << 28, " buffers");
        } else {
            fail("there is no option %s (see --help)", name);
        }
    }
    if (options->discipline == NULL) fail("--discipline is missing: one of fairdrop's, rte_red or none (see --help)");
    begin(options);
    for (int at = 0; at < parameters; ++at) set(options, words[at]);
    if (options->kind == KIND_FAIRDROP && fairdrop_size(&options->params, &error) == 0) fail("%s", error.message);
    if (options->kind == KIND_RTE_RED && options->red.min_th >= options->red.max_th)
        fail("min_th = %u is not valid: below max_th, which is %u", options->red.min_th, options->red.max_th);
    if (options->hold > 0 && options->rate_bps > 0)
        fail("--hold = \"%u\" is not valid: 0, since a link with a --rate has the queue that it has", options->hold);
    if (options->hold > options->limit && options->kind != KIND_NONE)
        fail("--hold = \"%u\" is not valid: at most the limit, %u", options->hold, options->limit);
    take_secret(options, seeded);
}
