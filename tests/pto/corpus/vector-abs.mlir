// Absolute values of 1,000 numbers: the last register is masked, and the buffers lie side by side.
// dmaverify: gm %in = 1000xf32
// dmaverify: gm %out = 1000xf32
// dmaverify: expect proved
func.func @vector_abs(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c1000 = arith.constant 1000 : index
  %left0 = arith.constant 1000 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %len = arith.constant 4000 : i64
  %a = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %len : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %a, %z, %len nburst(%one, %len, %len)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %last = scf.for %j = %c0 to %c1000 step %c64 iter_args(%left = %left0) -> (i32) {
      %m, %rest = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
      %v = pto.vlds %a[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %w = pto.vabs %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %w, %b[%j], %m {dist = "NORM_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      scf.yield %rest : i32
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %b, %out, %len nburst(%one, %len, %len)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
