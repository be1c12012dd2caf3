// A matrix product on the cube core beside a copy of its bias on the vector core.
// dmaverify: expect proved
// broken: nburst(%c2_i64, %c512_i64, %c512_i64) // bias => nburst(%c2_i64, %c512_i64, %c48_i64) // bias => pto/ub-pitch
func.func @two_cores(%a: !pto.ptr<f16, gm>, %bias: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>) {
  %c0_i64 = arith.constant 0 : i64
  %c2_i64 = arith.constant 2 : i64
  %c16_i64 = arith.constant 16 : i64
  %c48_i64 = arith.constant 48 : i64
  %c512_i64 = arith.constant 512 : i64
  pto.section.cube {
    %l1 = pto.castptr %c0_i64 : i64 -> !pto.ptr<f16, mat>
    %l0 = pto.castptr %c0_i64 : i64 -> !pto.ptr<f16, left>
    pto.mte_gm_l1 %a, %l1, %c0_i64, %c512_i64 nburst(%c16_i64, %c512_i64, %c512_i64) : !pto.ptr<f16, gm>, !pto.ptr<f16, mat>, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE1>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE1>, <EVENT_ID0>]
    pto.mte_l1_l0a %l1, %l0, %c16_i64, %c16_i64 : !pto.ptr<f16, mat>, !pto.ptr<f16, left>, i64, i64
    pto.sync.set <PIPE_FIX>, 3
  } {pto.core = "cube"}
  pto.section.vector {
    pto.sync.wait <PIPE_MTE2>, 3
    %ub = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
    pto.mte_gm_ub %bias, %ub, %c0_i64, %c512_i64 nburst(%c2_i64, %c512_i64, %c512_i64) // bias
        : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.mte_ub_gm %ub, %out, %c512_i64 nburst(%c2_i64, %c512_i64, %c512_i64)
        : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  } {pto.core = "vector"}
  return
}
