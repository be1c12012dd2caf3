// Twice as much of every number, for any count up to 1,000: registers, rows and masks follow the argument.
// dmaverify: gm %in = 1000xf32
// dmaverify: gm %out = 1000xf32
// dmaverify: assume %n in 1..1000
// dmaverify: expect proved
func.func @any_length(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : i64
  %c64 = arith.constant 64 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2.0 : f32
  %obase = arith.constant 4000 : i64
  %wide = arith.index_cast %n : index to i64
  %left0 = arith.index_cast %n : index to i32
  %len = arith.muli %wide, %c4 : i64
  %a = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %obase : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %a, %z, %len nburst(%one, %len, %len)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %last = scf.for %j = %c0 to %n step %c64 iter_args(%left = %left0) -> (i32) {
      %m, %rest = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
      %v = pto.vlds %a[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %w = pto.vmuls %v, %two, %m : !pto.vreg<64xf32>, f32, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %w, %b[%j], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      scf.yield %rest : i32
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %b, %out, %len nburst(%one, %len, %len)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
