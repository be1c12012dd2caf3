// Batch and head of a tile by quotient and remainder with a count that is an argument.
// dmaverify: expect proved
// broken: %po = arith.muli %p, %c1024 => %po = arith.muli %p, %c524288 => core/in-bounds
// dmaverify: gm %x = 8x512x1024xbf16
// dmaverify: gm %y = 8x512x1024xbf16
// dmaverify: assume %heads in 1..16
// dmaverify: assume %batch in 1..8
func.func @heads(%x: !pto.ptr<bf16, gm>, %y: !pto.ptr<bf16, gm>, %batch: i32, %heads: i32) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %c1024 = arith.constant 1024 : index
  %c524288 = arith.constant 524288 : index
  %c0_i64 = arith.constant 0 : i64
  %c64_i64 = arith.constant 64 : i64
  %c128_i64 = arith.constant 128 : i64
  %c2048_i64 = arith.constant 2048 : i64
  // [batch][512][1024]: head h owns columns 64*h..; tile of 64 positions
  %b0 = pto.get_block_idx
  %n0 = pto.get_block_num
  %bid = arith.trunci %b0 : i64 to i32
  %num = arith.trunci %n0 : i64 to i32
  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<bf16, ub>
  %tot = arith.muli %batch, %heads : i32
  scf.for %w = %bid to %tot step %num  : i32 {
    %bb = arith.divsi %w, %heads : i32
    %hh = arith.remsi %w, %heads : i32
    %bi = arith.index_cast %bb : i32 to index
    %hi = arith.index_cast %hh : i32 to index
    %bo = arith.muli %bi, %c524288 : index
    %ho = arith.muli %hi, %c64 : index
    %base = arith.addi %bo, %ho : index
    scf.for %p = %c0 to %c512 step %c64 {
      %po = arith.muli %p, %c1024 : index
      %at = arith.addi %base, %po : index
      %s = pto.addptr %x, %at : <bf16, gm> -> <bf16, gm>
      %d = pto.addptr %y, %at : <bf16, gm> -> <bf16, gm>
      pto.mte_gm_ub %s, %u, %c0_i64, %c128_i64 nburst(%c64_i64, %c2048_i64, %c128_i64)
        : !pto.ptr<bf16, gm>, !pto.ptr<bf16, ub>, i64, i64, i64, i64, i64
      pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
      pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
      pto.mte_ub_gm %u, %d, %c128_i64 nburst(%c64_i64, %c128_i64, %c2048_i64)
        : !pto.ptr<bf16, ub>, !pto.ptr<bf16, gm>, i64, i64, i64, i64
      pto.set_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
      pto.wait_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
    }
  }
  return
}
