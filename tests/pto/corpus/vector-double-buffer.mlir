// Two buffers each way for any number of tiles of 1,000 numbers, 4,000 bytes each; the four buffers have no gap.
// dmaverify: gm %in = 64x1000xf32
// dmaverify: gm %out = 64x1000xf32
// dmaverify: assume %n in 1..64
// dmaverify: expect proved
func.func @double_buffer(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c1000 = arith.constant 1000 : index
  %left0 = arith.constant 1000 : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %len = arith.constant 4000 : i64
  %obase = arith.constant 8000 : i64
  %ub = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %uo = pto.castptr %obase : i64 -> !pto.ptr<f32, ub>
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID1"]
  scf.for %i = %c0 to %n step %c1 {
    %par = arith.remui %i, %c2 : index
    %off = arith.muli %par, %c1000 : index
    %goff = arith.muli %i, %c1000 : index
    %src = pto.addptr %in, %goff : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %dst = pto.addptr %out, %goff : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %b = pto.addptr %ub, %off : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    %o = pto.addptr %uo, %off : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE2", %par]
    pto.mte_gm_ub %src, %b, %z, %len nburst(%one, %len, %len)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE2", "PIPE_V", %par]
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_V", %par]
    pto.wait_flag_dyn["PIPE_MTE3", "PIPE_V", %par]
    pto.vecscope {
      %last = scf.for %j = %c0 to %c1000 step %c64 iter_args(%left = %left0) -> (i32) {
        %m, %rest = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
        %v = pto.vlds %b[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %w = pto.vabs %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        pto.vsts %w, %o[%j], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
        scf.yield %rest : i32
      }
    }
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE2", %par]
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE3", %par]
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE3", %par]
    pto.mte_ub_gm %o, %dst, %len nburst(%one, %len, %len)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE3", "PIPE_V", %par]
  }
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID1"]
  return
}
