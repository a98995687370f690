/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Integers of fixed width, without any header: this folder is compiled for the BPF machine and for the host. */
#ifndef FAIRDROP_TYPES_H
#define FAIRDROP_TYPES_H

typedef __UINT8_TYPE__ fd_u8;
typedef __UINT32_TYPE__ fd_u32;
typedef __INT32_TYPE__ fd_s32;
typedef __UINT64_TYPE__ fd_u64;
typedef __INT64_TYPE__ fd_s64;

/* The BPF machine has no calls through pointers and few arguments: everything is inlined into one function for each entry. */
#define FD_INLINE static inline __attribute__((always_inline))

/* A loop over 0 ... n - 1. The kernel glue has one that the verifier follows without unrolling. */
#ifndef fd_repeat
#define fd_repeat(i, n) for (fd_u32 i = 0, i##_end = (n); i < i##_end; i++)
#endif

#endif
