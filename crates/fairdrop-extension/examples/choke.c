/* CHOKe as a plug-in of the simulator, written from its paper: Pan, Prabhakar, Psounis, INFOCOM 2000, figure 2.
 *
 *     cc -shared -fPIC -O2 -ffp-contract=off -I crates/fairdrop-ffi/include crates/fairdrop-extension/examples/choke.c -o choke.so
 *     fairdrop compare scenarios/headline.toml --parts choke.so --disciplines choke,c_choke
 */
#include "fairdrop.h"

#include <stdlib.h>

#define BUSY UINT64_MAX

struct choke {
    const fairdrop_plugin_host *host;
    double min_th, max_th, max_p, w_q;
    double avg;
    double count; /* arrivals over min_th since the last early drop */
    uint64_t packet_ns, idle_since;
};

static void *make(const fairdrop_plugin_host *host) {
    struct choke *queue = calloc(1, sizeof *queue);
    if (!queue) return NULL;
    queue->host = host;
    queue->min_th = host->number(host->context, "min_th");
    queue->max_th = host->number(host->context, "max_th");
    queue->max_p = host->number(host->context, "max_p");
    queue->w_q = host->number(host->context, "w_q");
    queue->count = -1;
    queue->packet_ns = UINT64_C(8000000000000) / host->rate_bps;
    return queue;
}

static void update_average(struct choke *queue, uint64_t now_ns, uint32_t length) {
    if (length == 0 && queue->idle_since != BUSY) {
        uint64_t missed = (now_ns - queue->idle_since) / queue->packet_ns;
        double kept = 1, base = 1 - queue->w_q;
        for (; missed > 0; missed >>= 1, base *= base)
            if (missed & 1) kept *= base;
        queue->avg *= kept;
        queue->idle_since = BUSY;
    }
    queue->avg = (1 - queue->w_q) * queue->avg + queue->w_q * length;
}

/* FAIRDROP_ADMIT, or the cause to drop the arrival for. */
static int32_t verdict(struct choke *queue, const fairdrop_packet *packet, uint32_t length) {
    const fairdrop_plugin_host *host = queue->host;
    bool full = length >= host->limit;
    if (queue->avg < queue->min_th) {
        queue->count = -1;
        return full ? FAIRDROP_CAUSE_OVERFLOW : FAIRDROP_ADMIT;
    }
    fairdrop_packet candidate;
    if (host->draw(host->context, &candidate) && candidate.flow == packet->flow) {
        host->drop_shown(host->context, FAIRDROP_CAUSE_MATCH_QUEUED);
        return FAIRDROP_CAUSE_MATCH_ARRIVING;
    }
    if (queue->avg >= queue->max_th) {
        queue->count = 0;
        return FAIRDROP_CAUSE_RED_FORCED;
    }
    queue->count += 1;
    double p_b = queue->max_p * (queue->avg - queue->min_th) / (queue->max_th - queue->min_th);
    double left = 1 - queue->count * p_b;
    double p_a = left > 0 && p_b / left < 1 ? p_b / left : 1;
    double draw = (double)(host->random(host->context, FAIRDROP_STREAM_EARLY_DROP) >> 11) * 0x1p-53;
    if (draw >= p_a && !full) return FAIRDROP_ADMIT;
    queue->count = 0;
    return draw < p_a ? FAIRDROP_CAUSE_RED_EARLY : FAIRDROP_CAUSE_OVERFLOW;
}

static int32_t admit(void *self, fairdrop_packet *packet, uint64_t now_ns) {
    struct choke *queue = self;
    uint32_t length = queue->host->packets;
    update_average(queue, now_ns, length);
    queue->host->values[0] = queue->avg;
    return verdict(queue, packet, length);
}

static void idle(void *self, uint64_t now_ns) {
    struct choke *queue = self;
    if (queue->idle_since == BUSY) queue->idle_since = now_ns;
}

static const fairdrop_plugin_parameter parameters[] = {
    {"min_th", "packets", "100", "Average queue from which arrivals are compared.", FAIRDROP_KIND_PACKETS, 0, 1e6, NULL},
    {"max_th", "packets", "200", "Average queue from which all others are dropped.", FAIRDROP_KIND_PACKETS, 0, 1e6, NULL},
    {"max_p", "", "0.1", "Drop probability as the average reaches max_th.", FAIRDROP_KIND_NUMBER, 0, 1, NULL},
    {"w_q", "", "0.002", "Weight of the newest length in the average.", FAIRDROP_KIND_NUMBER, 0, 1, NULL},
};

static const char *const internals[] = {"avg"};

static const fairdrop_plugin table = {
    .version = FAIRDROP_PLUGIN_VERSION,
    .name = "c_choke",
    .doc = "RED, after comparing each arrival with a packet drawn from the queue.",
    .source = "Pan, Prabhakar, Psounis 2000",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .internals = internals,
    .internal_count = 1,
    .make = make,
    .release = free,
    .admit = admit,
    .idle = idle,
};

const fairdrop_plugin *fairdrop_plugin_table(void) {
    return &table;
}
