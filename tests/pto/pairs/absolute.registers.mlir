// |x| of a 32 x 32 tile, loops in registers, tokens and flags.
// dmaverify: gm %x = 32x32xf32
// dmaverify: gm %y = 32x32xf32
// dmaverify: expect proved
module attributes {pto.target_arch = "a5", pto.kernel_kind = #pto.kernel_kind<vector>} {
  func.func @absolute(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) attributes {pto.aicore} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c1024 = arith.constant 1024 : index
    %c1024_i32 = arith.constant 1024 : i32
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %c32_i64 = arith.constant 32 : i64
    %c128_i64 = arith.constant 128 : i64
    %c4096_i64 = arith.constant 4096 : i64
    %false = arith.constant false
    %in = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
    %out = pto.castptr %c4096_i64 : i64 -> !pto.ptr<f32, ub>
    pto.set_loop_size_outtoub %c1_i64, %c1_i64 : i64, i64
    pto.copy_gm_to_ubuf %x, %in, %c0_i64, %c32_i64, %c128_i64, %c0_i64, %c0_i64, %false, %c0_i64,
        %c128_i64, %c128_i64
        : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
    pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
    pto.vecscope {
      %done = scf.for %i = %c0 to %c1024 step %c64 iter_args(%left = %c1024_i32) -> (i32) {
        %m, %rest = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
        %v = pto.vlds %in[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %a = pto.vabs %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        pto.vsts %a, %out[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
        scf.yield %rest : i32
      }
    }
    pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
    pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
    pto.set_loop_size_ubtoout %c1_i64, %c1_i64 : i64, i64
    pto.copy_ubuf_to_gm %out, %y, %c0_i64, %c32_i64, %c128_i64, %c0_i64, %c128_i64, %c128_i64
        : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
    pto.barrier #pto.pipe<PIPE_ALL>
    return
  }
}
