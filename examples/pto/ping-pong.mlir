// Double buffering over any number of tiles: two buffers each way, primed before the loop, drained behind it.
// dmaverify: gm %in = 64x1024xf32
// dmaverify: gm %out = 64x1024xf32
// dmaverify: assume %n in 1..64
func.func @pingpong(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c1024 = arith.constant 1024 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %len = arith.constant 4096 : i64
  %obase = arith.constant 16384 : i64
  %ub = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %uo = pto.castptr %obase : i64 -> !pto.ptr<f32, ub>
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID1"]
  scf.for %i = %c0 to %n step %c1 {
    %par = arith.remui %i, %c2 : index
    %off = arith.muli %par, %c1024 : index
    %goff = arith.muli %i, %c1024 : index
    %src = pto.addptr %in, %goff : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %dst = pto.addptr %out, %goff : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %b = pto.addptr %ub, %off : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    %o = pto.addptr %uo, %off : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE2", %par]
    pto.mte_gm_ub %src, %b, %z, %len nburst(%one, %len, %len) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE2", "PIPE_V", %par]
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_V", %par]
    pto.wait_flag_dyn["PIPE_MTE3", "PIPE_V", %par]
    pto.vecscope {
      scf.for %j = %c0 to %c1024 step %c64 {
        %v = pto.vlds %b[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %w = pto.vabs %v : !pto.vreg<64xf32>
        pto.vsts %w, %o[%j] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>
      }
    }
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE2", %par]
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE3", %par]
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE3", %par]
    pto.mte_ub_gm %o, %dst, %len nburst(%one, %len, %len) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE3", "PIPE_V", %par]
  }
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID1"]
  return
}
