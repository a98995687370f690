/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes settings into the map of a loaded program that no loader would write: every byte 0xff behind the generation. For tests alone.
 *
 * poke /sys/fs/bpf/fairdrop/fd_choke_0/config
 */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int command, union bpf_attr *attributes)
{
    return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

int main(int count, char **words)
{
    static unsigned char value[1 << 16];
    struct bpf_map_info info = { 0 };
    union bpf_attr named = { .pathname = (uintptr_t)(count > 1 ? words[1] : "") };
    uint32_t key = 0, generation;
    long map = bpf(BPF_OBJ_GET, &named);
    union bpf_attr described = { .info = { .bpf_fd = (uint32_t)map, .info_len = sizeof info, .info = (uintptr_t)&info } };
    union bpf_attr element = { .map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = (uintptr_t)value };
    if (map < 0 || bpf(BPF_OBJ_GET_INFO_BY_FD, &described) < 0 || bpf(BPF_MAP_LOOKUP_ELEM, &element) < 0) {
        perror("poke");
        return 1;
    }
    memcpy(&generation, value, sizeof generation);
    memset(value, 0xff, info.value_size);
    generation++;
    memcpy(value, &generation, sizeof generation);
    if (bpf(BPF_MAP_UPDATE_ELEM, &element) < 0) {
        perror("poke");
        return 1;
    }
    return 0;
}
