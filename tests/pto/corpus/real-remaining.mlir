// What is left over is carried by the loop, and the last tile is shorter.
// dmaverify: expect proved
// broken: arith.minsi %rem, %c8192_i32 => arith.minsi %rem, %rem => pto/len-burst
// dmaverify: gm %x = 70000xf16
// dmaverify: gm %y = 70000xf16
// dmaverify: assume %n in 1..70000
func.func @remaining(%x: !pto.ptr<f16, gm>, %y: !pto.ptr<f16, gm>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8192 = arith.constant 8192 : index
  %c8191_i32 = arith.constant 8191 : i32
  %c8192_i32 = arith.constant 8192 : i32
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c2_i64 = arith.constant 2 : i64
  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<f16, ub>
  %up = arith.addi %n, %c8191_i32 : i32
  %tiles = arith.divsi %up, %c8192_i32 : i32
  %ti = arith.index_cast %tiles : i32 to index
  %e:2 = scf.for %i = %c0 to %ti step %c1 iter_args(%rem = %n, %at = %c0) -> (i32, index) {
    %now = arith.minsi %rem, %c8192_i32 : i32
    %n64 = arith.extsi %now : i32 to i64
    %len = arith.muli %n64, %c2_i64 : i64
    %s = pto.addptr %x, %at : <f16, gm> -> <f16, gm>
    %d = pto.addptr %y, %at : <f16, gm> -> <f16, gm>
    pto.mte_gm_ub %s, %u, %c0_i64, %len nburst(%c1_i64, %c0_i64, %c0_i64)
      : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.mte_ub_gm %u, %d, %len nburst(%c1_i64, %c0_i64, %c0_i64)
      : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE3>, <PIPE_MTE2>, <EVENT_ID0>]
    %r2 = arith.subi %rem, %now : i32
    %a2 = arith.addi %at, %c8192 : index
    scf.yield %r2, %a2 : i32, index
  }
  return
}
