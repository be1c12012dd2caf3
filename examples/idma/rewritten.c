// The functions of driver.c, written otherwise: `dmaverify equiv driver.c rewritten.c --engine manticore`.
#include "snrt.h"

static const uint64_t L1[2] = {0x10000000, 0x10001000};

static void there_and_back(int i) {
    const uint32_t tile = 1 << 12;
    snrt_dma_start_1d((void *)L1[i & 1], (void *)(uint64_t)(0x80000000 + i * tile), tile);
    snrt_dma_wait_all();
    snrt_dma_start_1d((void *)(uint64_t)(0x90000000 + i * tile), (void *)L1[i & 1], tile);
}

void through_two_buffers(void) {
    there_and_back(0);
    there_and_back(1);
    for (int i = 2; i < 4; i++) there_and_back(i);
    snrt_dma_wait_all();
}

// Two halves of 32 rows each.
void rows(uint32_t number) {
    assert(number < 1024);
    for (int half = 0; half < 2; half++) {
        uint32_t from = 0xA0000000 + (number << 10) + half * 32768;
        snrt_dma_start_2d((void *)(0x10002000 + half * 8192), (void *)from, 256, 256, 1024, 32);
    }
    snrt_dma_wait_all();
}
