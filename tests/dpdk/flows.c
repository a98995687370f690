/* Which packets a queue takes for one flow: by the device's hash where there is one, else by the headers. */
#include <stdio.h>

#include <rte_eal.h>

#include "queue.h"

static struct rte_mempool *pool;

static struct rte_mbuf *packet(uint16_t port, uint32_t hash) {
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
    uint8_t *data = (uint8_t *)rte_pktmbuf_append(mbuf, 1000);
    memset(data, 0, 1000);
    data[12] = 8;
    data[14] = 0x45;
    data[23] = 17;
    data[34] = (uint8_t)(port >> 8);
    data[35] = (uint8_t)port;
    if (hash > 0) {
        mbuf->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
        mbuf->hash.rss = hash;
    }
    return mbuf;
}

/* Three packets of one kind and then one of another: prints at which place the other leaves. */
static void order(const struct options *options, const char *name, struct rte_mbuf *one[3], struct rte_mbuf *other) {
    struct queue queue;
    struct rte_mbuf *mbuf;
    unsigned place = 0;
    queue_init(&queue, options, 0);
    for (unsigned at = 0; at < 3; ++at) queue_enqueue(&queue, one[at], 0);
    queue_enqueue(&queue, other, 0);
    for (unsigned at = 1; (mbuf = queue_dequeue(&queue, 0)) != NULL; ++at) {
        if (mbuf == other) place = at;
        rte_pktmbuf_free(mbuf);
    }
    queue_end(&queue);
    printf("%s %u\n", name, place);
}

int main(int count, char **words) {
    struct options options;
    char *ours[] = {(char[]){"--discipline"}, (char[]){"fq"}};
    if (rte_eal_init(count, words) < 0) return 1;
    options_read(&options, 2, ours);
    pool = rte_pktmbuf_pool_create("packets", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, (int)rte_socket_id());
    if (pool == NULL) return 1;
    order(&options, "same", (struct rte_mbuf *[]){packet(1, 0), packet(1, 0), packet(1, 0)}, packet(1, 0));
    order(&options, "ports", (struct rte_mbuf *[]){packet(1, 0), packet(1, 0), packet(1, 0)}, packet(2, 0));
    order(&options, "hashes", (struct rte_mbuf *[]){packet(1, 5), packet(1, 5), packet(1, 5)}, packet(1, 6));
    order(&options, "hash", (struct rte_mbuf *[]){packet(1, 5), packet(2, 5), packet(3, 5)}, packet(4, 5));
    options.flows = false;
    order(&options, "without", (struct rte_mbuf *[]){packet(1, 5), packet(2, 6), packet(3, 7)}, packet(4, 8));
    if (rte_mempool_in_use_count(pool) != 0) return 1;
    rte_eal_cleanup();
    return 0;
}
