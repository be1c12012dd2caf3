// Rows of tiles through two buffers in turn: how many rows, and how many tiles each has, are arguments.
// dmaverify: assume %n in 1..1000000
// dmaverify: assume %m in 1..1000000
// dmaverify: expect proved
// broken: %size = arith.constant 512 => %size = arith.constant 480 => core/hazard-war
func.func @rows(%a: !pto.ptr<f32, gm>, %o: !pto.ptr<f32, gm>, %n: index, %m: index) {
  %zero = arith.constant 0 : index
  %step = arith.constant 1 : index
  %two = arith.constant 2 : index
  %row = arith.constant 128 : index
  %first = arith.constant 1024 : index
  %size = arith.constant 512 : index
  %z = arith.constant 0 : i64
  %pieces = arith.constant 2 : i64
  %l = arith.constant 256 : i64
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  scf.for %i = %zero to %n step %step {
    scf.for %j = %zero to %m step %step {
      %turn = arith.remui %j, %two : index
      %at0 = arith.muli %i, %m : index
      %at1 = arith.addi %at0, %j : index
      %at = arith.muli %at1, %row : index
      %s = pto.addptr %a, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
      %d = pto.addptr %o, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
      %b0 = arith.muli %turn, %size : index
      %b1 = arith.addi %first, %b0 : index
      %b2 = arith.index_cast %b1 : index to i64
      %b = pto.castptr %b2 : i64 -> !pto.ptr<f32, ub>
      pto.wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
      pto.mte_gm_ub %s, %b, %z, %l nburst(%pieces, %l, %l)
          : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
      pto.set_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]
      pto.wait_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]
      pto.mte_ub_gm %b, %d, %l nburst(%pieces, %l, %l) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
      pto.set_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
    }
  }
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  return
}
