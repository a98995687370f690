#include <inttypes.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "forward.h"

typedef const char *(*causes)(const struct queue *queue, unsigned cause, fairdrop_count *count);

static fairdrop_count total(const struct path *path, causes of) {
    fairdrop_count sum = {0, 0}, count;
    for (unsigned cause = 0; of(&path->queue, cause, &count) != NULL; ++cause) {
        sum.packets += count.packets;
        sum.bytes += count.bytes;
    }
    return sum;
}

static void text_causes(const struct path *path, const char *what, causes of) {
    const char *name;
    fairdrop_count count;
    for (unsigned cause = 0; (name = of(&path->queue, cause, &count)) != NULL; ++cause) {
        if (count.packets > 0) printf("  %s %s %" PRIu64 "\n", what, name, count.packets);
    }
}

static void json_count(const char *before, const char *name, fairdrop_count count) {
    printf("%s\"%s\": {\"packets\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", before, name, count.packets, count.bytes);
}

static void json_causes(const struct path *path, const char *what, causes of) {
    const char *name, *before = "";
    fairdrop_count count;
    printf(", \"%s\": {", what);
    for (unsigned cause = 0; (name = of(&path->queue, cause, &count)) != NULL; ++cause) {
        if (count.packets == 0) continue;
        json_count(before, name, count);
        before = ", ";
    }
    printf("}");
}

bool report(const struct options *options, const struct path *paths, unsigned count, struct duration duration) {
    bool whole = true;
    if (options->json)
        printf("{\"discipline\": \"%s\", \"rate_bps\": %" PRIu64 ", \"seconds\": %.9f, \"cpu_seconds\": %.9f, \"paths\": [",
               options->discipline, options->rate_bps, duration.clock, duration.processor);
    for (unsigned at = 0; at < count; ++at) {
        const struct path *path = paths + at;
        fairdrop_count dropped = total(path, queue_dropped), marked = total(path, queue_marked);
        fairdrop_count queued = queue_backlog(&path->queue);
        struct rte_eth_stats device = {0};
        uint64_t missed;
        rte_eth_stats_get(path->in, &device);
        missed = device.imissed + device.rx_nombuf;
        whole = whole && path->received.packets == path->sent.packets + path->unsent.packets + dropped.packets + queued.packets &&
                path->received.bytes == path->sent.bytes + path->unsent.bytes + dropped.bytes + queued.bytes;
        if (options->json) {
            printf("%s{\"in\": %u, \"out\": %u", at > 0 ? ", " : "", path->in, path->out);
            json_count(", ", "received", path->received);
            json_count(", ", "sent", path->sent);
            json_count(", ", "unsent", path->unsent);
            json_count(", ", "queued", queued);
            json_causes(path, "dropped", queue_dropped);
            json_causes(path, "marked", queue_marked);
            printf(", \"missed\": %" PRIu64 "}", missed);
        } else {
            printf("port %u to %u: received %" PRIu64 " sent %" PRIu64 " unsent %" PRIu64 " dropped %" PRIu64
                   " queued %" PRIu64 " marked %" PRIu64 " missed %" PRIu64 "\n",
                   path->in, path->out, path->received.packets, path->sent.packets, path->unsent.packets, dropped.packets,
                   queued.packets, marked.packets, missed);
            text_causes(path, "dropped", queue_dropped);
            text_causes(path, "marked", queue_marked);
        }
    }
    if (options->json) puts("]}");
    fflush(stdout);
    return whole;
}
