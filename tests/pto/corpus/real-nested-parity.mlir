// The buffer's turn goes through two loops; the inner one runs seven times.
// dmaverify: expect proved
// broken: %sk = arith.muli %q, %c512 => %sk = arith.muli %q, %c0 => core/hazard-war
// dmaverify: gm %x = 6x7x512xf32
// dmaverify: gm %y = 6x7x512xf32
func.func @nested_carry(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c512 = arith.constant 512 : index
  %c3584 = arith.constant 3584 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c2048_i64 = arith.constant 2048 : i64
  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  pto.set_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
  pto.set_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID1>]
  %o = scf.for %i = %c0 to %c6 step %c1 iter_args(%k = %c0) -> (index) {
    %oo = scf.for %j = %c0 to %c7 step %c1 iter_args(%q = %k) -> (index) {
      %a = arith.muli %i, %c3584 : index
      %c = arith.muli %j, %c512 : index
      %at = arith.addi %a, %c : index
      %sk = arith.muli %q, %c512 : index
      %b = pto.addptr %u, %sk : <f32, ub> -> <f32, ub>
      %s = pto.addptr %x, %at : <f32, gm> -> <f32, gm>
      %d = pto.addptr %y, %at : <f32, gm> -> <f32, gm>
      pto.wait_flag_dyn[<PIPE_MTE3>, <PIPE_MTE2>, %q]
      pto.mte_gm_ub %s, %b, %c0_i64, %c2048_i64 nburst(%c1_i64, %c2048_i64, %c2048_i64)
        : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
      pto.set_flag_dyn[<PIPE_MTE2>, <PIPE_MTE3>, %q]
      pto.wait_flag_dyn[<PIPE_MTE2>, <PIPE_MTE3>, %q]
      pto.mte_ub_gm %b, %d, %c2048_i64 nburst(%c1_i64, %c2048_i64, %c2048_i64)
        : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
      pto.set_flag_dyn[<PIPE_MTE3>, <PIPE_MTE2>, %q]
      %f = arith.xori %q, %c1 : index
      scf.yield %f : index
    }
    scf.yield %oo : index
  }
  pto.wait_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
  pto.wait_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID1>]
  return
}
