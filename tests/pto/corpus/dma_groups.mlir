// The copies of 2026-05 with a stream operand, two loops and padding, and a copy inside of UB.
// dmaverify: expect proved
// dmaverify: gm %in = 2x2x8x30xf16
// broken: loop2(%c2_i64, %c960_i64, %c1024_i64) pad => loop2(%c2_i64, %c960_i64, %c480_i64) pad => core/writes-once
func.func @dma_groups(%in: !pto.ptr<f16, gm>, %out: !pto.ptr<f16, gm>) {
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c2_i64 = arith.constant 2 : i64
  %c8_i64 = arith.constant 8 : i64
  %c32_i64 = arith.constant 32 : i64
  %c60_i64 = arith.constant 60 : i64
  %c64_i64 = arith.constant 64 : i64
  %c480_i64 = arith.constant 480 : i64
  %c512_i64 = arith.constant 512 : i64
  %c960_i64 = arith.constant 960 : i64
  %c1024_i64 = arith.constant 1024 : i64
  %c4096_i64 = arith.constant 4096 : i64
  %nothing = arith.constant 0xFC00 : f16
  %ub = pto.castptr %c0_i64 : i64 -> !pto.ptr<f16, ub>
  %second = pto.castptr %c4096_i64 : i64 -> !pto.ptr<f16, ub>
  pto.dma_load %in, %ub, %c0_i64, %c0_i64, %c60_i64 nburst(%c8_i64, %c60_i64, %c64_i64)
    loop1(%c2_i64, %c480_i64, %c512_i64) loop2(%c2_i64, %c960_i64, %c1024_i64) pad(%nothing, %c0_i64, %c2_i64)
    : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64, i64, loop1 i64, i64, i64, loop2 i64, i64, i64, pad f16, i64, i64
  pto.barrier <PIPE_ALL>
  pto.dma_copy %ub, %second, %c2_i64 nburst(%c32_i64, %c0_i64, %c0_i64) : !pto.ptr<f16, ub>, !pto.ptr<f16, ub>, i64, i64, i64, i64
  pto.barrier <PIPE_ALL>
  pto.dma_store %second, %out, %c0_i64, %c64_i64 nburst(%c32_i64, %c64_i64, %c64_i64) : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64, i64
  return
}
