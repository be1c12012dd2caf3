// Any count up to a million in chunks of 1,024, the last one shorter; one buffer in, one out, no gap between them.
// dmaverify: gm %in = 1048576xf32
// dmaverify: gm %out = 1048576xf32
// dmaverify: assume %n in 1..1048576
// dmaverify: expect proved
func.func @chunks(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : i64
  %c64 = arith.constant 64 : index
  %c1024 = arith.constant 1024 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %obase = arith.constant 4096 : i64
  %a = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %obase : i64 -> !pto.ptr<f32, ub>
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  scf.for %i = %c0 to %n step %c1024 {
    %more = arith.subi %n, %i : index
    %here = arith.minsi %more, %c1024 : index
    %left0 = arith.index_cast %here : index to i32
    %wide = arith.index_cast %here : index to i64
    %len = arith.muli %wide, %c4 : i64
    %src = pto.addptr %in, %i : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %dst = pto.addptr %out, %i : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
    pto.mte_gm_ub %src, %a, %z, %len nburst(%one, %len, %len)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
    pto.vecscope {
      %last = scf.for %j = %c0 to %here step %c64 iter_args(%left = %left0) -> (i32) {
        %m, %rest = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
        %v = pto.vlds %a[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %w = pto.vrelu %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        pto.vsts %w, %b[%j], %m {dist = "NORM_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
        scf.yield %rest : i32
      }
    }
    pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
    pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
    pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
    pto.mte_ub_gm %b, %dst, %len nburst(%one, %len, %len)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  }
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  return
}
