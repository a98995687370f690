/* Each macro of fairdrop.h beside the size that the library reports; the test fills in the rows. */
#include <stdio.h>
#include <string.h>

#include <fairdrop.h>

static const struct {
    const char *name;
    size_t limit, bytes;
} rows[] = {
    /* rows */
};

static FAIRDROP_MEMORY(constant, FAIRDROP_FRED_BYTES(1000));

int main(void) {
    fairdrop_params params;
    fairdrop_error error;
    fairdrop_discipline described;
    size_t at, covered = 0;
    for (at = 0; at < sizeof rows / sizeof *rows; ++at) {
        size_t needed;
        if (fairdrop_params_init(&params, rows[at].name, 10000000, &error) < 0 ||
            fairdrop_params_set_number(&params, "limit", (double)rows[at].limit, &error) < 0 ||
            (needed = fairdrop_size(&params, &error)) == 0) {
            fprintf(stderr, "%s: %s\n", rows[at].name, error.message);
            return 1;
        }
        if (rows[at].bytes < needed || rows[at].bytes > needed + needed / 2 + 128) {
            fprintf(stderr, "%s, limit %zu: %zu bytes for %zu\n", rows[at].name, rows[at].limit, rows[at].bytes, needed);
            return 1;
        }
        if (at == 0 || strcmp(rows[at].name, rows[at - 1].name) != 0) {
            /* In the order of the catalogue, so that none is missing. */
            if (fairdrop_discipline_at(covered++, &described) != FAIRDROP_STATUS_OK || strcmp(described.name, rows[at].name) != 0) {
                fprintf(stderr, "%s is not number %zu of the catalogue\n", rows[at].name, covered);
                return 1;
            }
            printf("%s\n", rows[at].name);
        }
    }
    return covered == fairdrop_discipline_count() && sizeof constant >= FAIRDROP_FRED_BYTES(1000) ? 0 : 1;
}
