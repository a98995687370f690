// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs in the guest: instructions that the kernel's verifier went through for the queue discipline that is loaded.
//
//     verified
//
// A line on standard output: the most for one of its functions, and the sum over all.
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int command, union bpf_attr *attributes)
{
    return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

int main(void)
{
    union bpf_attr next = { .start_id = 0 };
    uint32_t most = 0, sum = 0;
    for (; bpf(BPF_PROG_GET_NEXT_ID, &next) == 0; next.start_id = next.next_id) {
        struct bpf_prog_info info = { 0 };
        union bpf_attr named = { .prog_id = next.next_id };
        long program = bpf(BPF_PROG_GET_FD_BY_ID, &named);
        union bpf_attr described = { .info = { .bpf_fd = (uint32_t)program, .info_len = sizeof info, .info = (uintptr_t)&info } };
        if (program < 0 || bpf(BPF_OBJ_GET_INFO_BY_FD, &described) < 0) {
            perror("verified");
            return 1;
        }
        close((int)program);
        if (info.type != BPF_PROG_TYPE_STRUCT_OPS)
            continue;
        most = info.verified_insns > most ? info.verified_insns : most;
        sum += info.verified_insns;
    }
    printf("%u %u\n", most, sum);
    return 0;
}
