/* Plays conformance vectors to the library through its C interface: reads one vector as text from standard input and
 * answers on standard output, as conformance/README.md says ("The stream", "As text").
 *
 * Build: make ffi
 *        cc -std=c11 -Icrates/fairdrop-ffi/include crates/fairdrop-ffi/examples/conformance.c target/c/libfairdrop_ffi.a \
 *            -o target/c/conformance
 * Run:   fairdrop conformance check --format text -- target/c/conformance
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <inttypes.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fairdrop.h"

enum { LONGEST_LINE = 100001, STREAMS = 16, MOST_NUMBERS = 4096, MOST_HOSTS = 64, MEMORY = 8 << 20 };

/* The random numbers of one event, and what the library took of them. */
struct numbers {
    uint64_t bits[MOST_NUMBERS];
    unsigned stream[MOST_NUMBERS];
    bool taken[MOST_NUMBERS];
    size_t count;
    unsigned used[STREAMS];
};

/* Hosts that flows have in common with others. */
struct hosts {
    uint64_t flow;
    fairdrop_hosts ends;
};

static struct numbers numbers;
static struct hosts hosts[MOST_HOSTS];
static size_t host_count;
static bool answered;
static char line[LONGEST_LINE];
static alignas(16) unsigned char memory[MEMORY];

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("conformance: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* One group of an answer. */
static void answer(const char *format, ...)
{
    va_list arguments;
    if (answered)
        putchar(' ');
    answered = true;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

static void on_dropped(void *context, const fairdrop_packet *packet, fairdrop_cause cause)
{
    (void)context;
    answer("D %" PRIu64 " %s", packet->cookie, fairdrop_cause_name(cause));
}

static void on_drawn(void *context, const fairdrop_packet *packet)
{
    (void)context;
    answer("C %" PRIu64, packet->cookie);
}

static void on_hosts(void *context, const fairdrop_packet *packet, fairdrop_hosts *ends)
{
    (void)context;
    for (size_t i = 0; i < host_count; i++)
        if (hosts[i].flow == packet->flow)
            *ends = hosts[i].ends;
}

/* The next number of the stream that this event has. */
static uint64_t on_random(void *context, fairdrop_stream stream)
{
    (void)context;
    for (size_t i = 0; i < numbers.count; i++) {
        if (numbers.stream[i] == stream && !numbers.taken[i]) {
            numbers.taken[i] = true;
            numbers.used[stream]++;
            return numbers.bits[i];
        }
    }
    fail("the vector has no further number of stream %u", (unsigned)stream);
    return 0;
}

static void on_internal(void *context, const char *name, double value)
{
    (void)context;
    answer("I %s %.17g", name, value);
}

/* The next word of the line; a line that ends early is not of this format. */
static const char *word(void)
{
    const char *found = strtok(NULL, " \n");
    if (found == NULL)
        fail("a line ends early");
    return found;
}

static uint64_t whole(void)
{
    return strtoull(word(), NULL, 10);
}

static bool read_line(void)
{
    return fgets(line, sizeof line, stdin) != NULL;
}

/* `P owner name kind value`: sets one parameter. */
static void read_parameter(fairdrop_params *params)
{
    fairdrop_error error;
    fairdrop_status status;
    char name[80];
    const char *owner = word(), *own = word(), *kind = word();
    snprintf(name, sizeof name, "%s.%s", owner, own);
    if (strcmp(kind, "number") == 0) {
        status = fairdrop_params_set_number(params, name, strtod(word(), NULL), &error);
    } else if (strcmp(kind, "switch") == 0) {
        status = fairdrop_params_set_switch(params, name, *word() == '1', &error);
    } else if (strcmp(kind, "word") == 0) {
        status = fairdrop_params_set_word(params, name, word(), &error);
    } else {
        double values[16];
        size_t count = (size_t)whole();
        if (count > 16)
            fail("%s has %zu values", name, count);
        for (size_t i = 0; i < count; i++)
            values[i] = strtod(word(), NULL);
        status = fairdrop_params_set_list(params, name, values, count, &error);
    }
    if (status != FAIRDROP_STATUS_OK)
        fail("%s: %s", name, error.message);
}

/* The header, and the queue that it describes. `L` comes after the parameters, so these wait until the rate is known. */
static fairdrop_queue *read_header(void)
{
    static char waiting[512][256];
    size_t count = 0;
    char discipline[64] = "";
    fairdrop_params params;
    fairdrop_error error;
    while (read_line()) {
        if (line[0] == 'D') {
            strtok(line, " \n");
            snprintf(discipline, sizeof discipline, "%s", word());
        } else if (line[0] == 'P') {
            if (count == 512 || strlen(line) >= sizeof waiting[0])
                fail("too many parameters, or too long ones");
            strcpy(waiting[count++], line);
        } else if (line[0] == 'H') {
            strtok(line, " \n");
            if (host_count == MOST_HOSTS)
                fail("too many flows with hosts");
            hosts[host_count].flow = whole();
            hosts[host_count].ends.source = whole();
            hosts[host_count++].ends.destination = whole();
        } else if (line[0] == 'B') {
            /* Modes are of decisions on bursts, which own no queue. */
            puts("X no bursts in modes");
            exit(0);
        } else if (line[0] == 'L') {
            strtok(line, " \n");
            double limit = (double)whole();
            if (fairdrop_params_init(&params, discipline, whole(), &error) != FAIRDROP_STATUS_OK
                || fairdrop_params_set_number(&params, "limit", limit, &error) != FAIRDROP_STATUS_OK)
                fail("%s", error.message);
        } else if (line[0] == 'E') {
            /* The vectors are of this key. */
            static const uint64_t flow_key[2] = { 0, 0 };
            fairdrop_host host = {
                .dropped = on_dropped, .flow_key = flow_key, .random = on_random, .drawn = on_drawn, .hosts = on_hosts
            };
            for (size_t i = 0; i < count; i++) {
                strtok(waiting[i], " \n");
                read_parameter(&params);
            }
            fairdrop_queue *queue = fairdrop_init(memory, sizeof memory, &params, &host, &error);
            if (queue == NULL)
                fail("%s: %s", error.parameter, error.message);
            return queue;
        }
    }
    fail("the header has no end");
    return NULL;
}

/* What ends every event: picks, which only a queue without the ring of the library needs, and random numbers. */
static void read_tail(void)
{
    for (uint64_t picks = whole(); picks > 0; picks--)
        word();
    memset(&numbers, 0, sizeof numbers);
    numbers.count = (size_t)whole();
    if (numbers.count > MOST_NUMBERS)
        fail("an event has %zu random numbers", numbers.count);
    for (size_t i = 0; i < numbers.count; i++) {
        numbers.stream[i] = (unsigned)whole();
        numbers.bits[i] = strtoull(word(), NULL, 16);
    }
}

/* Packets marked until now, by cause. */
static void count_marks(const fairdrop_queue *queue, uint64_t *marks)
{
    for (size_t cause = 0; cause < fairdrop_cause_count(); cause++) {
        fairdrop_count count;
        fairdrop_marked(queue, (uint8_t)cause, &count);
        marks[cause] = count.packets;
    }
}

static void play(fairdrop_queue *queue)
{
    uint64_t before[64], after[64];
    char type = *strtok(line, " \n");
    uint64_t now = whole();
    fairdrop_packet packet = { 0 };
    count_marks(queue, before);
    if (type == '+') {
        packet.cookie = whole();
        packet.flow = whole();
        packet.len = (uint32_t)whole();
        packet.traffic_class = (uint8_t)whole();
        packet.ecn = (uint8_t)whole();
        packet.label = (uint16_t)whole();
        read_tail();
        fairdrop_enqueue(queue, &packet, now);
    } else if (type == '-') {
        read_tail();
        if (fairdrop_dequeue(queue, now, &packet) == FAIRDROP_STATUS_OK)
            answer("S %" PRIu64, packet.cookie);
    } else {
        read_tail();
        fairdrop_tick(queue, now);
    }
    /* Marks fall on the packet that arrives or that departs. */
    count_marks(queue, after);
    for (size_t cause = 0; cause < fairdrop_cause_count(); cause++)
        if (after[cause] != before[cause])
            answer("M %" PRIu64 " %s", packet.cookie, fairdrop_cause_name((uint8_t)cause));
    fairdrop_count backlog;
    fairdrop_backlog(queue, &backlog);
    answer("B %" PRIu64 " %" PRIu64, backlog.packets, backlog.bytes);
    for (unsigned stream = 0; stream < STREAMS; stream++)
        if (numbers.used[stream] > 0)
            answer("U %u %u", stream, numbers.used[stream]);
    fairdrop_internals(queue, on_internal, NULL);
    putchar('\n');
    answered = false;
}

int main(void)
{
    if (fairdrop_abi_version() != FAIRDROP_ABI_VERSION)
        fail("the library has another version than the header");
    fairdrop_queue *queue = read_header();
    while (read_line())
        play(queue);
    return 0;
}
