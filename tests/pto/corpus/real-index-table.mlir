// Rows of a table by numbers that a copy brought into UB.
// dmaverify: expect proved
// broken: %so = arith.muli %i, %c64 : index => %so = arith.muli %i, %c8 : index => core/hazard-waw
// dmaverify: gm %ids = 512xi32
// dmaverify: gm %y = 512x64xf32
func.func @index_table(%ids: !pto.ptr<i32, gm>, %table: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c8_i64 = arith.constant 8 : i64
  %c256_i64 = arith.constant 256 : i64
  %c2048_i64 = arith.constant 2048 : i64
  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<i32, ub>
  %rows = pto.castptr %c2048_i64 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %ids, %u, %c0_i64, %c2048_i64 nburst(%c1_i64, %c2048_i64, %c2048_i64)
    : !pto.ptr<i32, gm>, !pto.ptr<i32, ub>, i64, i64, i64, i64, i64
  pto.set_flag[<PIPE_MTE2>, <PIPE_S>, <EVENT_ID0>]
  pto.wait_flag[<PIPE_MTE2>, <PIPE_S>, <EVENT_ID0>]
  scf.for %b = %c0 to %c512 step %c8 {
    scf.for %i = %c0 to %c8 step %c1 {
      %k = arith.addi %b, %i : index
      %id = pto.load_scalar %u[%k] : !pto.ptr<i32, ub> -> i32
      %ix = arith.index_cast %id : i32 to index
      %off = arith.muli %ix, %c64 : index
      %s = pto.addptr %table, %off : <f32, gm> -> <f32, gm>
      %so = arith.muli %i, %c64 : index
      %d = pto.addptr %rows, %so : <f32, ub> -> <f32, ub>
      pto.mte_gm_ub %s, %d, %c0_i64, %c256_i64 nburst(%c1_i64, %c256_i64, %c256_i64)
        : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    }
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    %oo = arith.muli %b, %c64 : index
    %o = pto.addptr %y, %oo : <f32, gm> -> <f32, gm>
    pto.mte_ub_gm %rows, %o, %c256_i64 nburst(%c8_i64, %c256_i64, %c256_i64)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
  }
  return
}
