// Everything in the generic form: three levels of loops, right padding, flags as attributes.
// dmaverify: expect proved
// dmaverify: gm %arg0 = 4x3x8x56xf32
// broken: %9, %9, %15, %16, %0, => %9, %9, %14, %16, %0, => core/writes-once
"builtin.module"() ({
  "func.func"() <{function_type = (!pto.ptr<f32, gm>, !pto.ptr<f32, gm>) -> (), sym_name = "printed_generic"}> ({
  ^bb0(%arg0: !pto.ptr<f32, gm>, %arg1: !pto.ptr<f32, gm>):
    %0 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %1 = "arith.constant"() <{value = 0 : index}> : () -> index
    %2 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %3 = "arith.constant"() <{value = 1 : index}> : () -> index
    %4 = "arith.constant"() <{value = 4 : index}> : () -> index
    %5 = "arith.constant"() <{value = 1344 : index}> : () -> index
    %6 = "arith.constant"() <{value = 3 : i64}> : () -> i64
    %7 = "arith.constant"() <{value = 1 : i64}> : () -> i64
    %8 = "arith.constant"() <{value = 8 : i64}> : () -> i64
    %9 = "arith.constant"() <{value = 1792 : i64}> : () -> i64
    %10 = "arith.constant"() <{value = 5376 : i64}> : () -> i64
    %11 = "arith.constant"() <{value = 224 : i64}> : () -> i64
    %12 = "arith.constant"() <{value = 256 : i64}> : () -> i64
    %13 = "arith.constant"() <{value = 2048 : i64}> : () -> i64
    %14 = "arith.constant"() <{value = 1024 : i64}> : () -> i64
    %15 = "arith.constant"() <{value = 2048 : i64}> : () -> i64
    %16 = "arith.constant"() <{value = 6144 : i64}> : () -> i64
    %17 = "arith.constant"() <{value = 24 : i64}> : () -> i64
    %18 = "pto.castptr"(%2) : (i64) -> !pto.ptr<f32, ub>
    "scf.for"(%1, %4, %3) ({
    ^bb0(%arg2: index):
      %19 = "arith.muli"(%arg2, %5) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %20 = "pto.addptr"(%arg0, %19) : (!pto.ptr<f32, gm>, index) -> !pto.ptr<f32, gm>
      "pto.mte_gm_ub"(%20, %18, %2, %11, %8, %11, %12, %6, %7, %9, %9, %15, %16, %0, %2, %8) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1>}> : (!pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, f32, i64, i64) -> ()
      "pto.set_flag"() {dst_pipe = #pto.pipe<PIPE_MTE3>, event_id = #pto.event<EVENT_ID5>, src_pipe = #pto.pipe<PIPE_MTE2>} : () -> ()
      "pto.wait_flag"() {dst_pipe = #pto.pipe<PIPE_MTE3>, event_id = #pto.event<EVENT_ID5>, src_pipe = #pto.pipe<PIPE_MTE2>} : () -> ()
      "pto.mte_ub_gm"(%18, %arg1, %12, %17, %12, %12, %2) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> : (!pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64) -> ()
      "pto.barrier"() <{pipe = #pto.pipe<PIPE_ALL>}> : () -> ()
      "scf.yield"() : () -> ()
    }) {pto.tiled = 2 : i64} : (index, index, index) -> ()
    "func.return"() : () -> ()
  }) {pto.aicore} : () -> ()
}) : () -> ()
