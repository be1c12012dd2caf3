#include <stdint.h>
struct S_0 { uint8_t m0[2]; uint8_t m1[8]; uint16_t m2[2][4]; };
struct S { struct S_0 m0; };
void f(int z, uint32_t n) { struct S v; snrt_dma_start_1d((void *)0x80000000, (void *)(&v.m0.m1[0]), 9); snrt_dma_wait_all(); }
