/** Annotated controllers (specification, "Custom API" 3 and 5). */
import type { ModelType } from '../model/define.ts';

export interface MappingOptions {
  /** Schema of the JSON body; validates too, and the method then gets the body as its second argument. */
  body?: object;
  operationId?: string;
  description?: string;
  tag?: string;
  response?: object | ModelType;
}

type MethodDecorator = (method: any, context: ClassMethodDecoratorContext) => void;

export declare function ApiVersion(groupVersionOrVersion: string): (type: any, context: ClassDecoratorContext) => void;
export declare function GetMapping(path: string, options?: MappingOptions): MethodDecorator;
export declare function PostMapping(path: string, options?: MappingOptions): MethodDecorator;
export declare function PutMapping(path: string, options?: MappingOptions): MethodDecorator;
export declare function PatchMapping(path: string, options?: MappingOptions): MethodDecorator;
export declare function DeleteMapping(path: string, options?: MappingOptions): MethodDecorator;
