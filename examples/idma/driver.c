// Four tiles of 4 KiB through two buffers of a cluster, as a Snitch core launches them: `dmaverify check driver.c --engine manticore`.
#include "snrt.h"

#define TILE 4096
#define L1(i) (0x10000000 + ((i) % 2) * TILE)

static const int TILES = 4;

void through_two_buffers(void) {
    for (int i = 0; i < TILES; ++i) {
        snrt_dma_start_1d((void *)L1(i), (void *)(0x80000000 + i * TILE), TILE);
        snrt_dma_wait_all();
        snrt_dma_start_1d((void *)(0x90000000 + i * TILE), (void *)L1(i), TILE);
    }
    snrt_dma_wait_all();
}

// 64 rows of 256 bytes out of a matrix with rows of 1,024 bytes, whichever they are.
void rows(uint32_t first) {
    assert(first < 1024);
    snrt_dma_start_2d((void *)0x10002000, (void *)(0xA0000000 + first * 1024), 256, 256, 1024, 64);
    snrt_dma_wait_all();
}
