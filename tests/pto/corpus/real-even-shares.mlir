// Rows shared among all cores, the first few of which take one more.
// dmaverify: expect proved
// broken: %extra = arith.select %more, %c1, %c0 : index => %extra = arith.select %more, %c1, %c1 : index => core/in-bounds
// dmaverify: gm %x = 10000x64xf32
// dmaverify: gm %y = 10000x64xf32
// dmaverify: assume %n in 1..10000
func.func @even_shares(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c256_i64 = arith.constant 256 : i64
  %b0 = pto.get_block_idx
  %n0 = pto.get_block_num
  %b = arith.index_cast %b0 : i64 to index
  %k = arith.index_cast %n0 : i64 to index
  %base = arith.divui %n, %k : index
  %rest = arith.remui %n, %k : index
  %more = arith.cmpi ult, %b, %rest : index
  %extra = arith.select %more, %c1, %c0 : index
  %mine = arith.addi %base, %extra : index
  %before = arith.minui %b, %rest : index
  %lead = arith.muli %b, %base : index
  %start = arith.addi %lead, %before : index
  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  scf.for %i = %c0 to %mine step %c1 {
    %row = arith.addi %start, %i : index
    %at = arith.muli %row, %c64 : index
    %s = pto.addptr %x, %at : <f32, gm> -> <f32, gm>
    %d = pto.addptr %y, %at : <f32, gm> -> <f32, gm>
    pto.mte_gm_ub %s, %u, %c0_i64, %c256_i64 nburst(%c1_i64, %c256_i64, %c256_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.mte_ub_gm %u, %d, %c256_i64 nburst(%c1_i64, %c256_i64, %c256_i64)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
  }
  return
}
